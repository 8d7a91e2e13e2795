#include "engine/group/worker_group.h"

#include "engine/group/worker_link.h"
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>

namespace engine {

namespace asio = boost::asio;
using cluster::ErrorCode;

struct WorkerGroup::State : std::enable_shared_from_this<WorkerGroup::State>
{
    State(asio::io_context &theContext, WorkerGroupOptions theOptions)
        : context(theContext), options(std::move(theOptions))
    {
    }

    asio::io_context &context;
    WorkerGroupOptions options;
    std::function<void(const std::string &)> lost;
    std::vector<std::shared_ptr<WorkerLink>> links;
    RunnerOptions runner;
    Prepared prepared; ///< Set while the group is forming.
    std::size_t opening = 0;
    std::optional<cluster::Error> error; ///< The first one.

    void form();
    void opened(const cluster::Status &status);
    void linkLost(const std::string &reason);
    void release();
};

void WorkerGroup::State::form()
{
    error.reset();
    opening = options.workers.size();
    for (const auto &worker : options.workers) {
        WorkerLinkOptions link;
        const std::size_t colon = worker.rfind(':');
        link.host = worker.substr(0, colon);
        std::from_chars(worker.data() + colon + 1, worker.data() + worker.size(), link.port);
        link.token = options.token;
        link.build = options.build;
        link.openDeadline = options.formDeadline;
        link.heartbeatDeadline = options.heartbeatDeadline;
        links.push_back(std::make_shared<WorkerLink>(context, std::move(link),
                                                     [weak = weak_from_this()](const std::string &reason) {
                                                         if (const auto self = weak.lock())
                                                             self->linkLost(reason);
                                                     }));
    }
    const auto opened = links; // a failing one clears the list
    for (const auto &link : opened) {
        asio::co_spawn(context, link->open(),
                       [self = shared_from_this(), link](const std::exception_ptr &thrown,
                                                         const cluster::Status &status) {
                           const bool current
                               = std::find(self->links.begin(), self->links.end(), link) != self->links.end();
                           if (current)
                               self->opened(thrown
                                                ? cluster::fail(ErrorCode::Internal, "a worker's link failed")
                                                : status);
                       });
    }
}

void WorkerGroup::State::opened(const cluster::Status &status)
{
    --opening;
    if (!status && !error)
        error = status.error();
    if (!prepared || (opening > 0 && !error))
        return;
    const auto answer = std::exchange(prepared, nullptr);
    for (const auto &link : links) {
        if (!error && !link->lostReason().empty())
            error = cluster::Error{ErrorCode::Unavailable, link->lostReason()};
    }
    if (error) {
        const cluster::Error why = *error;
        release();
        answer(tl::unexpected(why));
        return;
    }
    runner.rpcEndpoints.clear();
    for (const auto &link : links)
        runner.rpcEndpoints.push_back(link->relayEndpoint());
    answer(runner);
}

void WorkerGroup::State::linkLost(const std::string &reason)
{
    if (!prepared && lost) // else: told when all links have answered
        lost(reason);
}

void WorkerGroup::State::release()
{
    prepared = nullptr;
    for (const auto &link : std::exchange(links, {}))
        link->close();
}

WorkerGroup::WorkerGroup(asio::io_context &context, WorkerGroupOptions options)
    : m_state(std::make_shared<State>(context, std::move(options)))
{
}

WorkerGroup::~WorkerGroup()
{
    m_state->lost = nullptr;
    m_state->release();
}

void WorkerGroup::onLost(std::function<void(const std::string &)> handler)
{
    m_state->lost = std::move(handler);
}

void WorkerGroup::prepare(RunnerOptions options, Prepared prepared)
{
    m_state->release();
    m_state->runner = std::move(options);
    m_state->prepared = std::move(prepared);
    m_state->form();
}

void WorkerGroup::release()
{
    m_state->release();
}

} // namespace engine
