#include "cluster/local/gcp/timed_operations.h"

#include "cluster/local/gcp/wire_values.h"

namespace cluster::local {

using nlohmann::json;

OperationPlan TimedOperations::plan(const std::string &type, const std::string &location,
                                    std::chrono::milliseconds takes) const
{
    FaultContext what;
    what.service = m_service;
    what.operation = type;
    what.location = location;
    auto duration = m_context.compressed(takes);
    if (const auto slow = m_context.faults.strike(FaultKind::SlowOperation, what))
        duration = std::chrono::milliseconds(
            static_cast<std::int64_t>(static_cast<double>(duration.count()) * slow->factor));
    OperationPlan plan;
    plan.endsAt = millisecondsOf(m_context.now() + duration);
    if (const auto failed = m_context.faults.strike(FaultKind::FailedOperation, what)) {
        const std::string message
            = failed->message.empty() ? "an internal error has occurred" : failed->message;
        plan.failure = GoogleError{ErrorCode::Internal, message, json::array(), 0};
    }
    return plan;
}

GoogleResult<json> TimedOperations::start(const std::string &name, const OperationPlan &plan,
                                          const json &metadata, const json &response)
{
    json stored{{"name", name}, {"endsAt", plan.endsAt}};
    if (!metadata.is_null())
        stored["metadata"] = metadata;
    if (plan.failure)
        stored["error"] = {{"code", rpcNumber(plan.failure->code)}, {"message", plan.failure->message}};
    else
        stored["response"] = response;
    const auto written = m_context.documents.put(keyOf(name), stored);
    if (!written)
        return tl::unexpected(toGoogleError(written.error()));
    // Running, however short it takes: gcloud overlooks an error in the first answer.
    json begun{{"name", name}};
    if (!metadata.is_null())
        begun["metadata"] = metadata;
    return begun;
}

GoogleResult<json> TimedOperations::get(const std::string &name) const
{
    const auto document = m_context.documents.get(keyOf(name));
    if (!document)
        return tl::unexpected(toGoogleError(document.error()));
    if (!*document)
        return googleFail(ErrorCode::NotFound, "Operation \"" + name + "\" not found.");
    return wire((*document)->value);
}

GoogleResult<json> TimedOperations::list(const std::string &prefix) const
{
    const auto documents = m_context.documents.list(keyOf(prefix));
    if (!documents)
        return tl::unexpected(toGoogleError(documents.error()));
    json operations = json::array();
    for (const Document &document : *documents)
        operations.push_back(wire(document.value));
    return operations;
}

void TimedOperations::sweep()
{
    const auto documents = m_context.documents.list(keyOf({}));
    if (!documents)
        return; // the disk will say it again to somebody who can do something about it
    const std::int64_t oldest = millisecondsOf(m_context.now() - std::chrono::hours(24 * 30));
    for (const Document &document : *documents) {
        if (document.value.value("endsAt", std::int64_t{0}) < oldest)
            static_cast<void>(m_context.documents.remove(document.key));
    }
}

bool TimedOperations::isOver(std::int64_t time) const
{
    return millisecondsOf(m_context.now()) >= time;
}

json TimedOperations::wire(const json &stored) const
{
    json operation{{"name", stored.at("name")}};
    if (stored.contains("metadata"))
        operation["metadata"] = stored["metadata"];
    if (!isOver(stored.value("endsAt", std::int64_t{0})))
        return operation; // as Google's: no "done" at all while it runs
    operation["done"] = true;
    const char *const outcome = stored.contains("error") ? "error" : "response";
    operation[outcome] = stored.value(outcome, json::object());
    return operation;
}

} // namespace cluster::local
