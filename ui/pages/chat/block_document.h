#pragma once

#include "models/chat/markdown_blocks.h"
#include <QTextDocument>
#include <memory>

namespace ui {

class Theme;

/// A text document that loads nothing: whatever a model writes, no file is read and no server is asked.
class BlockDocument : public QTextDocument
{
    Q_OBJECT

public:
    explicit BlockDocument(const Theme &theme);

    /// Shows the block; where only code was added to the one before, only its end is laid out again.
    void setBlock(const models::MarkdownBlock &block);
    [[nodiscard]] const models::MarkdownBlock &block() const { return m_block; }
    /// Address under the point; empty where there is no link.
    [[nodiscard]] QString linkAt(const QPointF &point) const;

protected:
    QVariant loadResource(int type, const QUrl &name) override;

private:
    void build();
    void buildTable();
    void buildList();
    void appendProse(const models::MarkdownBlock &block);
    void appendCode(const QString &code);
    void insertInline(class QTextCursor &cursor, const models::InlineText &text, bool isBold = false);

    const Theme &m_theme;
    models::MarkdownBlock m_block;
};

} // namespace ui
