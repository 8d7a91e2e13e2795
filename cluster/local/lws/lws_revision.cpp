#include "cluster/local/lws/lws_revision.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/lws/typed_form.h"
#include "cluster/local/nodes/json_access.h"

#include <string_view>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::size_t longestPrefix = 220;

std::uint32_t fnv1(std::string_view bytes)
{
    std::uint32_t hash = 2166136261U;
    for (const char byte : bytes) {
        hash *= 16777619U;
        hash ^= static_cast<unsigned char>(byte);
    }
    return hash;
}

/// As Go's encoder writes it, which escapes for HTML and two line ends of Unicode.
std::string goText(const Json &value)
{
    std::string text;
    const std::string plain = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const std::string_view rest = std::string_view(plain).substr(i);
        if (plain[i] == '<') {
            text += "\\u003c";
        } else if (plain[i] == '>') {
            text += "\\u003e";
        } else if (plain[i] == '&') {
            text += "\\u0026";
        } else if (rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9")) {
            text += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            text += plain[i];
        }
    }
    return text;
}

/// Without members that are null: another way of leaving them out.
Json withoutNulls(const Json &value)
{
    Json kept = value;
    if (value.is_object()) {
        kept = Json::object();
        for (const auto &[key, member] : value.items()) {
            if (!member.is_null())
                kept[key] = withoutNulls(member);
        }
    } else if (value.is_array()) {
        for (Json &item : kept)
            item = withoutNulls(item);
    }
    return kept;
}

} // namespace

Json revisionData(const Json &lws)
{
    Json spec = at(lws, "spec");
    if (!spec.is_object())
        spec = Json::object();
    makeTyped(spec);
    Json group = at(spec, "leaderWorkerTemplate").is_object() ? spec["leaderWorkerTemplate"] : Json::object();
    Json network
        = at(spec, "networkConfig").is_object() ? spec["networkConfig"] : Json{{"subdomainPolicy", "Shared"}};
    group["$patch"] = "replace";
    network["$patch"] = "replace";
    return {{"spec", {{"leaderWorkerTemplate", std::move(group)}, {"networkConfig", std::move(network)}}}};
}

std::string revisionKey(const Json &data)
{
    constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
    std::string key = std::to_string(fnv1(goText(data)));
    for (char &digit : key)
        digit = letters[static_cast<unsigned char>(digit) % letters.size()];
    return key;
}

Json newRevision(const Json &lws, const std::vector<Json> &known, const std::string &key)
{
    std::int64_t number = 1;
    for (const Json &revision : known)
        number = std::max(number, integerOf(revision, "revision") + 1);
    const LwsSpec spec = lwsSpec(lws);
    Json data = revisionData(lws);
    const std::string hash = revisionKey(data);
    return {{"apiVersion", "apps/v1"},
            {"kind", "ControllerRevision"},
            {"metadata",
             {{"name", spec.name.substr(0, longestPrefix) + "-" + hash + "-" + std::to_string(number)},
              {"namespace", spec.nameSpace},
              {"labels", {{lws_keys::name, spec.name}, {lws_keys::revision, key.empty() ? hash : key}}},
              {"ownerReferences", Json::array({ownedBy(lws_keys::apiVersion, lws_keys::kind, lws)})}}},
            {"data", std::move(data)},
            {"revision", number}};
}

Json withRevision(Json lws, const Json &revision)
{
    for (const char *part : {"leaderWorkerTemplate", "networkConfig"}) {
        const Json &kept = at(at(at(revision, "data"), "spec"), part);
        if (!kept.is_object() || !at(lws, "spec").is_object())
            continue;
        lws["spec"][part] = kept;
        lws["spec"][part].erase("$patch");
    }
    return lws;
}

bool isRevisionOf(const Json &revision, const Json &lws)
{
    const Json wanted = revisionData(lws);
    const Json &kept = at(revision, "data");
    return kept == wanted || withoutNulls(revisionData(withRevision(lws, revision))) == withoutNulls(wanted);
}

Json revisionWith(const std::vector<Json> &revisions, const std::string &key)
{
    const Json *newest = nullptr;
    for (const Json &revision : revisions) {
        if (key.empty() || labelOf(revision, lws_keys::revision) != key)
            continue;
        if (newest == nullptr || integerOf(*newest, "revision") <= integerOf(revision, "revision"))
            newest = &revision;
    }
    return newest == nullptr ? Json() : *newest;
}

} // namespace cluster::local
