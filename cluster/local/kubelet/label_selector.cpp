#include "cluster/local/kubelet/label_selector.h"

#include <algorithm>
#include <cctype>
#include <charconv>
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
            SelectorRequirement requirement;
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
    using Operator = SelectorOperator;

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

    bool readComparison(SelectorRequirement &requirement)
    {
        if (take("!="))
            requirement.op = Operator::NotEquals;
        else if (take("==") || take("="))
            requirement.op = Operator::Equals;
        else if (take(">"))
            requirement.op = Operator::GreaterThan;
        else if (take("<"))
            requirement.op = Operator::LessThan;
        else
            return false;
        requirement.values.insert(word());
        return true;
    }

    bool readRequirement(SelectorRequirement &requirement)
    {
        const bool isNegated = take("!");
        requirement.key = word();
        if (requirement.key.empty())
            return false;
        requirement.op = isNegated ? Operator::DoesNotExist : Operator::Exists;
        if (isNegated || m_rest.empty() || m_rest.front() == ',')
            return true;
        if (readComparison(requirement))
            return true;
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

namespace {

/// Both are whole numbers, and the label's is greater (or less).
bool compares(const std::string &label, const SelectorRequirement &requirement)
{
    std::int64_t left = 0, right = 0;
    const std::string &wanted = *requirement.values.begin();
    const auto isWhole = [](const std::string &text, std::int64_t &number) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc() && end == text.data() + text.size();
    };
    if (!isWhole(label, left) || !isWhole(wanted, right))
        return false;
    return requirement.op == SelectorOperator::GreaterThan ? left > right : left < right;
}

} // namespace

bool isMet(const SelectorRequirement &requirement, const nlohmann::json &labels)
{
    const auto found = labels.is_object() ? labels.find(requirement.key) : labels.end();
    const bool exists = labels.is_object() && found != labels.end() && found->is_string();
    const bool isIn = exists && requirement.values.contains(found->get<std::string>());
    switch (requirement.op) {
    case SelectorOperator::Equals:
    case SelectorOperator::In:
        return isIn;
    case SelectorOperator::NotEquals:
    case SelectorOperator::NotIn:
        return !isIn;
    case SelectorOperator::Exists:
        return exists;
    case SelectorOperator::DoesNotExist:
        return !exists;
    case SelectorOperator::GreaterThan:
    case SelectorOperator::LessThan:
        return exists && compares(found->get<std::string>(), requirement);
    }
    return false;
}

bool LabelSelector::selects(const nlohmann::json &labels) const
{
    return std::all_of(
        m_requirements.begin(), m_requirements.end(),
        [&labels](const SelectorRequirement &requirement) { return isMet(requirement, labels); });
}

} // namespace cluster::local
