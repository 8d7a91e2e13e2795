#include "cluster/local/runtimes/ray/imagine_batches.h"

#include "cluster/local/runtimes/ray/placeholder_picture.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <iterator>
#include <utility>

namespace cluster::local {

using boost::system::error_code;

ImagineBatches::ImagineBatches(boost::asio::io_context &io, ImagineRules rules)
    : m_io(io), m_rules(rules), m_wait(io), m_work(io)
{
}

ImagineBatches::~ImagineBatches()
{
    *m_isAlive = false;
}

void ImagineBatches::add(std::shared_ptr<ServerExchange> exchange, std::string prompt, int size)
{
    m_gathering.push_back({std::move(exchange), std::move(prompt), size});
    startWhenDue(false);
}

/// A batch begins when the model is free and it is full, or has waited long enough for more.
void ImagineBatches::startWhenDue(bool hasWaited)
{
    if (m_isBusy || m_gathering.empty())
        return;
    const bool isFull = m_gathering.size() >= m_rules.batch;
    if (!isFull && !hasWaited && m_rules.wait.count() > 0) {
        if (std::exchange(m_isWaiting, true))
            return;
        m_wait.expires_after(m_rules.wait);
        m_wait.async_wait([this, alive = m_isAlive](error_code error) {
            if (error || !*alive)
                return;
            m_isWaiting = false;
            startWhenDue(true);
        });
        return;
    }
    m_wait.cancel();
    m_isWaiting = false;
    m_isBusy = true;
    const auto count = static_cast<std::ptrdiff_t>(std::min(m_gathering.size(), m_rules.batch));
    m_batch.assign(std::make_move_iterator(m_gathering.begin()),
                   std::make_move_iterator(m_gathering.begin() + count));
    m_gathering.erase(m_gathering.begin(), m_gathering.begin() + count);
    m_work.expires_after(m_rules.work); // of a whole batch: it is padded to its size
    m_work.async_wait([this, alive = m_isAlive](error_code error) {
        if (!error && *alive)
            drawNext();
    });
}

/// One picture a turn: probes are answered in between.
void ImagineBatches::drawNext()
{
    if (m_batch.empty()) {
        m_isBusy = false;
        startWhenDue(false);
        return;
    }
    const Asked asked = std::move(m_batch.back());
    m_batch.pop_back();
    if (!asked.exchange->isClosed())
        asked.exchange->reply({200,
                               {{"content-type", "image/png"}, {"x-engine-model", "slipway-placeholder"}},
                               placeholderPicture(asked.prompt, asked.size)});
    boost::asio::post(m_io, [this, alive = m_isAlive] {
        if (*alive)
            drawNext();
    });
}

} // namespace cluster::local
