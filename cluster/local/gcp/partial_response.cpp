#include "cluster/local/gcp/partial_response.h"

#include "cluster/local/gcp/google_error.h"

#include <map>
#include <memory>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kLongestMask = 8192;
constexpr int kDeepestMask = 32;

/// What is chosen of an object's members. Without members: all of it.
struct FieldTree
{
    std::map<std::string, FieldTree, std::less<>> members;
    bool isWhole = false;
};

/// mask = path *("," path); path = name *("/" name) ["(" mask ")"]; newer APIs write "." for "/".
class MaskReader
{
public:
    explicit MaskReader(std::string_view text) : m_text(text) {}

    Result<FieldTree> read()
    {
        FieldTree tree;
        if (m_text.size() > kLongestMask || !readList(tree, 0) || m_at != m_text.size())
            return fail(ErrorCode::InvalidArgument, "Invalid field selection " + std::string(m_text));
        return tree;
    }

private:
    [[nodiscard]] bool isAt(char c) const { return m_at < m_text.size() && m_text[m_at] == c; }
    bool take(char c)
    {
        const bool isThere = isAt(c);
        m_at += isThere ? 1 : 0;
        return isThere;
    }

    bool readList(FieldTree &tree, int depth)
    {
        do {
            if (!readPath(tree, depth))
                return false;
        } while (take(','));
        return true;
    }

    bool readPath(FieldTree &tree, int depth)
    {
        const std::size_t begin = m_at;
        while (m_at < m_text.size() && std::string_view(",/.()").find(m_text[m_at]) == std::string_view::npos)
            ++m_at;
        const std::string_view name = m_text.substr(begin, m_at - begin);
        if (name.empty() || name.find_first_of(" \t\n\"'") != std::string_view::npos || depth > kDeepestMask)
            return false;
        FieldTree &part = tree.members[std::string(name)];
        if (take('/') || take('.'))
            return readPath(part, depth + 1);
        if (take('('))
            return readList(part, depth + 1) && take(')');
        part.isWhole = true;
        return true;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

/// Discarded: nothing of it is chosen.
json chosen(const json &value, const FieldTree &tree)
{
    if (tree.isWhole)
        return value;
    if (value.is_array()) {
        json list = json::array();
        for (const json &element : value) {
            if (json part = chosen(element, tree); !part.is_discarded())
                list.push_back(std::move(part));
        }
        return list;
    }
    if (!value.is_object())
        return json(json::value_t::discarded);
    json object = json::object();
    for (const auto &[name, member] : value.items()) {
        for (const char *word : {name.c_str(), "*"}) {
            const auto found = tree.members.find(word);
            if (found == tree.members.end())
                continue;
            if (json part = chosen(member, found->second); !part.is_discarded())
                object[name] = std::move(part);
            break;
        }
    }
    return object;
}

bool isJson(const ServerResponse &response)
{
    for (const auto &[name, value] : response.headers) {
        if (name == "content-type")
            return value.starts_with("application/json");
    }
    return false;
}

} // namespace

Result<json> selectFields(const json &value, std::string_view mask)
{
    const auto tree = MaskReader(mask).read();
    if (!tree)
        return tl::unexpected(tree.error());
    return chosen(value, *tree);
}

ServerResponse partialResponse(const ServerRequest &request, ServerResponse response)
{
    auto mask = request.queryValue("fields");
    if (!mask)
        mask = request.queryValue("$fields");
    if (!mask || mask->empty() || response.status >= 300 || !isJson(response))
        return response;
    const json body = json::parse(response.body, nullptr, false);
    if (body.is_discarded())
        return response;
    const auto part = selectFields(body, *mask);
    if (!part)
        return legacyErrorResponse(toGoogleError(part.error()), "invalidParameter");
    response.body = part->dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    return response;
}

} // namespace cluster::local
