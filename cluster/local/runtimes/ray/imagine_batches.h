#pragma once

#include "cluster/httpd/server_exchange.h"

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

/// How the tutorial's model gathers prompts (serve.batch) and how long it takes with them.
struct ImagineRules
{
    std::size_t batch = 1; ///< prompts computed at once; always as many, filled up with a scratch prompt
    std::chrono::milliseconds wait{0}; ///< from the first prompt, for the batch to fill
    std::chrono::milliseconds work{0}; ///< of one batch, whatever is in it
};

/// The model behind /imagine: one batch at a time, others gather meanwhile. One thread, the io_context's.
class ImagineBatches
{
public:
    ImagineBatches(boost::asio::io_context &io, ImagineRules rules);
    ~ImagineBatches();
    ImagineBatches(const ImagineBatches &) = delete;
    ImagineBatches &operator=(const ImagineBatches &) = delete;

    /// The exchange gets the PNG when its batch is done.
    void add(std::shared_ptr<ServerExchange> exchange, std::string prompt, int size);

private:
    struct Asked
    {
        std::shared_ptr<ServerExchange> exchange;
        std::string prompt;
        int size = 512;
    };
    void startWhenDue(bool hasWaited);
    void drawNext();

    boost::asio::io_context &m_io;
    ImagineRules m_rules;
    std::deque<Asked> m_gathering;
    std::vector<Asked> m_batch; ///< being computed
    bool m_isBusy = false, m_isWaiting = false;
    boost::asio::steady_timer m_wait, m_work;
    std::shared_ptr<bool> m_isAlive = std::make_shared<bool>(true);
};

} // namespace cluster::local
