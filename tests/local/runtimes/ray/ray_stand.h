#pragma once

#include "cluster/local/runtimes/ray/ray_head.h"
#include "cluster/local/runtimes/ray/ray_worker.h"
#include "cluster/net/http_client.h"
#include "recording.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// A Ray cluster of this process: a head and workers, each at an address of its own, on free ports, run by
/// one thread. Delays are a tenth of Ray's own, and less.
class RayStand
{
public:
    explicit RayStand(bool allowsJobs = false);
    ~RayStand();

    /// Starts a worker at 127.0.0.N with four TPUs. Returns once it has joined.
    void addWorker(int n);
    void killWorker(std::size_t index); ///< as SIGKILL: its connection breaks, without a word
    void stopWorker(std::size_t index); ///< as SIGTERM

    cluster::HttpResponse ask(const std::string &method, int port, const std::string &target,
                              const std::string &body = {}, const std::string &contentType = {},
                              const std::string &host = "127.0.0.1");
    /// The recorded request, to the port that plays the recorded one.
    cluster::HttpResponse replay(const Recording &recording);
    nlohmann::json getJson(const std::string &target); ///< of the dashboard
    nlohmann::json serveDetails();
    void putServe(const nlohmann::json &config);
    /// "RUNNING" of an application; empty: there is none.
    std::string appStatus(const std::string &app);
    cluster::local::RayHeadPorts ports();

    static cluster::local::RayTimings shortTimings();

private:
    void onIo(const std::function<void()> &fn); ///< on the cluster's thread; returns when it is done

    boost::asio::io_context m_io;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> m_work{m_io.get_executor()};
    std::unique_ptr<cluster::local::RayHead> m_head;
    std::vector<std::unique_ptr<cluster::local::RayWorker>> m_workers;
    cluster::HttpClient m_client;
    std::thread m_thread;
};
