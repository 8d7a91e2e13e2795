#include "cluster/local/kubelet/log_answer.h"

#include <utility>

namespace cluster::local {

namespace {
constexpr std::size_t chunkSize = 64 * 1024;
constexpr std::size_t maxLogBacklog = 256 * 1024;
} // namespace

LogAnswer::LogAnswer(std::shared_ptr<ServerExchange> exchange, std::unique_ptr<LogReader> reader)
    : m_exchange(std::move(exchange)), m_reader(std::move(reader))
{
}

std::weak_ptr<LogAnswer> LogAnswer::start(std::shared_ptr<ServerExchange> exchange,
                                          std::unique_ptr<LogReader> reader)
{
    const std::shared_ptr<LogAnswer> answer(new LogAnswer(std::move(exchange), std::move(reader)));
    const std::weak_ptr<LogAnswer> weak = answer;
    answer->m_self = answer;
    answer->m_exchange->begin(200, {{"Content-Type", "text/plain"}});
    const auto go = [weak] {
        if (const auto self = weak.lock())
            self->next();
    };
    answer->m_exchange->onDrained(go);
    answer->m_exchange->onClosed([weak] {
        if (const auto self = weak.lock())
            self->stop();
    });
    answer->next();
    return weak;
}

void LogAnswer::next()
{
    const std::shared_ptr<LogAnswer> kept = m_self;
    while (m_reader && m_exchange->backlog() < maxLogBacklog) {
        Result<std::string> text = m_reader->read(chunkSize);
        if (!text) {
            stop();
            return;
        }
        if (!text->empty()) {
            m_exchange->write(std::move(*text));
            continue;
        }
        if (m_reader->atEnd()) {
            m_exchange->end();
            m_reader.reset();
            m_self.reset();
            return;
        }
        m_reader->whenMore([weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->next();
        });
        return;
    }
}

void LogAnswer::stop()
{
    const std::shared_ptr<LogAnswer> kept = std::exchange(m_self, nullptr);
    if (m_reader)
        m_exchange->cut();
    m_reader.reset();
}

} // namespace cluster::local
