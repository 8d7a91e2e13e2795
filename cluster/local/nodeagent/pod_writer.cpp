#include "cluster/local/nodeagent/pod_writer.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodeagent/work_pool.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace cluster::local {

using nlohmann::json;

namespace {

struct Pending
{
    PodKey key;
    std::optional<json> status;
    bool wantsRemoval = false;
    bool isUnderWay = false;
    int failures = 0;
};

enum class Verdict { Done, Gone, Again, Refused };

/// Nobody reads more of an answer than whether it came: the server need not write out the whole pod, nor we
/// read it. With thousands of pods that adds up.
constexpr const char *shortAnswer
    = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

Verdict judge(const Error &error)
{
    switch (error.code) {
    case ErrorCode::NotFound:
    case ErrorCode::Aborted: // another uid
        return Verdict::Gone;
    case ErrorCode::InvalidArgument:
    case ErrorCode::PermissionDenied:
    case ErrorCode::Unauthenticated:
        return Verdict::Refused;
    default:
        return Verdict::Again;
    }
}

} // namespace

class PodWriter::Private : public std::enable_shared_from_this<Private>
{
public:
    Private(boost::asio::io_context &context, WorkPool &workers, KubeClient &kube,
            std::function<void(const std::string &)> trouble)
        : io(context), pool(workers), client(kube), onTrouble(std::move(trouble))
    {
    }

    Pending &of(const PodKey &key)
    {
        Pending &entry = pods[key.uid];
        entry.key = key;
        return entry;
    }

    void start(const std::string &uid)
    {
        const auto found = pods.find(uid);
        if (found == pods.end() || found->second.isUnderWay)
            return;
        Pending &entry = found->second;
        if (!entry.status && !entry.wantsRemoval) {
            pods.erase(found);
            return;
        }
        entry.isUnderWay = true;
        const PodKey key = entry.key;
        // Shared, so that the closure may be copied without the document being so.
        const auto status = entry.status ? std::make_shared<json>(std::move(*entry.status)) : nullptr;
        entry.status.reset();
        const std::weak_ptr<Private> weak = weak_from_this();
        pool.run([this, weak, key, status]() -> std::function<void()> {
            const Status result = status ? sendStatus(key, *status) : sendRemoval(key);
            return [weak, key, status, result] {
                if (const auto self = weak.lock())
                    self->finished(key, status, result);
            };
        });
    }

    Status sendStatus(const PodKey &key, const json &patch)
    {
        KubeCallOptions options;
        options.cancel = pool.token();
        const ResourcePath path = coreV1("pods", key.nameSpace, key.name).sub("status");
        const auto answer
            = client.raw("PATCH", path.text(), patch.dump(-1, ' ', false, json::error_handler_t::replace),
                         "application/strategic-merge-patch+json", options, shortAnswer);
        return answer ? Status() : tl::unexpected(answer.error());
    }

    Status sendRemoval(const PodKey &key)
    {
        KubeCallOptions options;
        options.cancel = pool.token();
        const json body{{"kind", "DeleteOptions"},
                        {"apiVersion", "v1"},
                        {"gracePeriodSeconds", 0},
                        {"preconditions", {{"uid", key.uid}}}};
        const auto answer = client.raw("DELETE", coreV1("pods", key.nameSpace, key.name).text(), body.dump(),
                                       "application/json", options, shortAnswer);
        return answer ? Status() : tl::unexpected(answer.error());
    }

    void finished(const PodKey &key, const std::shared_ptr<json> &status, const Status &result)
    {
        const auto found = pods.find(key.uid);
        if (found == pods.end())
            return;
        Pending &entry = found->second;
        entry.isUnderWay = false;
        const Verdict verdict = result ? Verdict::Done : judge(result.error());
        if (verdict == Verdict::Gone) {
            pods.erase(found);
            return;
        }
        if (verdict == Verdict::Again) {
            if (status && !entry.status)
                entry.status = std::move(*status);
            wait(key.uid, entry);
            return;
        }
        if (verdict == Verdict::Refused && onTrouble)
            onTrouble("the API server refuses the status of pod " + key.nameSpace + "/" + key.name + ": "
                      + result.error().message);
        entry.failures = 0;
        if (!status)
            entry.wantsRemoval = false;
        start(key.uid);
    }

    void wait(const std::string &uid, Pending &entry)
    {
        constexpr int longest = 6; // doublings
        const auto pause = std::chrono::milliseconds(250) * (1 << std::min(entry.failures++, longest));
        entry.isUnderWay = true; // nothing else starts it meanwhile
        auto timer = std::make_shared<boost::asio::steady_timer>(io, pause);
        timer->async_wait([weak = weak_from_this(), uid, timer](boost::system::error_code error) {
            const auto self = weak.lock();
            if (error || !self)
                return;
            if (const auto found = self->pods.find(uid); found != self->pods.end()) {
                found->second.isUnderWay = false;
                self->start(uid);
            }
        });
    }

    boost::asio::io_context &io;
    WorkPool &pool;
    KubeClient &client;
    std::function<void(const std::string &)> onTrouble;
    std::map<std::string, Pending> pods; ///< by uid
};

PodWriter::PodWriter(boost::asio::io_context &io, WorkPool &pool, KubeClient &client,
                     std::function<void(const std::string &)> onTrouble)
    : m_p(std::make_shared<Private>(io, pool, client, std::move(onTrouble)))
{
}

PodWriter::~PodWriter() = default;

void PodWriter::writeStatus(const PodKey &pod, json patch)
{
    patch["metadata"]["uid"] = pod.uid;
    Pending &entry = m_p->of(pod);
    if (entry.status && entry.status->at("metadata").contains("annotations")
        && !patch["metadata"].contains("annotations"))
        patch["metadata"]["annotations"] = entry.status->at("metadata")["annotations"];
    entry.status = std::move(patch);
    m_p->start(pod.uid);
}

void PodWriter::remove(const PodKey &pod)
{
    m_p->of(pod).wantsRemoval = true;
    m_p->start(pod.uid);
}

void PodWriter::forget(const std::string &uid)
{
    m_p->pods.erase(uid);
}

std::size_t PodWriter::pending() const
{
    return m_p->pods.size();
}

} // namespace cluster::local
