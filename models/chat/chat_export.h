#pragma once

#include "cluster/base/result.h"
#include "models/chat/conversation.h"

namespace models {

/// The branch shown, to be read: headings per message, reasoning as a quote, measurements in a line.
QString toMarkdown(const Conversation &conversation);
/// The branch shown with everything known about it; without any key or address.
QByteArray toJsonText(const Conversation &conversation);
/// Writes the whole file or nothing: Markdown if the name ends in .md, else JSON.
cluster::Status exportTo(const QString &file, const Conversation &conversation);

} // namespace models
