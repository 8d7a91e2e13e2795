#include "cluster/local/nodeagent/work_pool.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace cluster::local {

namespace asio = boost::asio;

class WorkPool::Private
{
public:
    Private(asio::io_context &context, std::size_t count) : io(context), threads(count) {}

    asio::io_context &io;
    CancelSource cancel;
    asio::thread_pool threads;
};

WorkPool::WorkPool(asio::io_context &io, std::size_t threads) : m_p(std::make_unique<Private>(io, threads)) {}

WorkPool::~WorkPool()
{
    m_p->cancel.request_stop();
    m_p->threads.stop();
    m_p->threads.join();
}

CancelToken WorkPool::token() const
{
    return m_p->cancel.get_token();
}

void WorkPool::run(Work work)
{
    asio::post(m_p->threads, [this, work = std::move(work)] {
        if (m_p->cancel.stop_requested())
            return;
        std::function<void()> after = work();
        if (after && !m_p->cancel.stop_requested())
            asio::post(m_p->io, std::move(after));
    });
}

} // namespace cluster::local
