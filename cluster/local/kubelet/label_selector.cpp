#include "cluster/local/kubelet/label_selector.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace cluster::local {

/// One pass over the text.
class LabelSelectorParser
{
public:
    explicit LabelSelectorParser(std::string_view text) : m_rest(text) {}

    Result<LabelSelector> parse()
    {
        LabelSelector selector;
        skipBlanks();
        while (!m_rest.empty()) {
            LabelSelector::Requirement requirement;
            if (!readRequirement(requirement))
                return fail(ErrorCode::InvalidArgument,
                            "not a label selector, at '" + std::string(m_rest.substr(0, 100)) + "'");
            selector.m_requirements.push_back(std::move(requirement));
            if (m_rest.empty())
                break;
            if (!take(","))
                return fail(ErrorCode::InvalidArgument,
                            "a comma is missing in the label selector, at '"
                                + std::string(m_rest.substr(0, 100)) + "'");
        }
        return selector;
    }

private:
    using Operator = LabelSelector::Operator;

    void skipBlanks()
    {
        while (!m_rest.empty() && (m_rest.front() == ' ' || m_rest.front() == '\t'))
            m_rest.remove_prefix(1);
    }

    bool take(std::string_view token)
    {
        if (!m_rest.starts_with(token))
            return false;
        m_rest.remove_prefix(token.size());
        skipBlanks();
        return true;
    }

    std::string word()
    {
        std::size_t size = 0;
        while (size < m_rest.size()
               && (std::isalnum(static_cast<unsigned char>(m_rest[size])) != 0
                   || std::string_view("-_./").find(m_rest[size]) != std::string_view::npos))
            ++size;
        std::string text(m_rest.substr(0, size));
        m_rest.remove_prefix(size);
        skipBlanks();
        return text;
    }

    bool readSet(std::set<std::string> &values)
    {
        if (!take("("))
            return false;
        do {
            values.insert(word());
        } while (take(","));
        return take(")");
    }

    bool readRequirement(LabelSelector::Requirement &requirement)
    {
        const bool isNegated = take("!");
        requirement.key = word();
        if (requirement.key.empty())
            return false;
        requirement.op = isNegated ? Operator::DoesNotExist : Operator::Exists;
        if (isNegated || m_rest.empty() || m_rest.front() == ',')
            return true;
        if (take("!=")) {
            requirement.op = Operator::NotIn;
            requirement.values.insert(word());
            return true;
        }
        if (take("==") || take("=")) {
            requirement.op = Operator::In;
            requirement.values.insert(word());
            return true;
        }
        const std::string op = word();
        requirement.op = op == "in" ? Operator::In : Operator::NotIn;
        return (op == "in" || op == "notin") && readSet(requirement.values);
    }

    std::string_view m_rest;
};

Result<LabelSelector> LabelSelector::parse(std::string_view text)
{
    return LabelSelectorParser(text).parse();
}

bool LabelSelector::selects(const nlohmann::json &labels) const
{
    return std::all_of(
        m_requirements.begin(), m_requirements.end(), [&labels](const Requirement &requirement) {
            const auto found = labels.is_object() ? labels.find(requirement.key) : labels.end();
            const bool exists = labels.is_object() && found != labels.end() && found->is_string();
            const bool isIn = exists && requirement.values.contains(found->get<std::string>());
            switch (requirement.op) {
            case Operator::In:
                return isIn;
            case Operator::NotIn:
                return !isIn;
            case Operator::Exists:
                return exists;
            case Operator::DoesNotExist:
                return !exists;
            }
            return false;
        });
}

} // namespace cluster::local
