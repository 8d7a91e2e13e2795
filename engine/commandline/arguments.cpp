#include "engine/commandline/arguments.h"

#include <algorithm>
#include <numeric>

namespace engine {
namespace {

using cluster::ErrorCode;

bool isFlag(const std::string &argument)
{
    // "-1" is a value, "-tp" a flag.
    return argument.size() > 1 && argument[0] == '-' && (argument[1] < '0' || argument[1] > '9')
        && argument[1] != '.';
}

std::size_t editDistance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

/// Walks over the arguments of one command line.
class Applier
{
public:
    Applier(const CommandLine &line, const std::vector<std::string> &arguments)
        : m_line(line), m_arguments(arguments)
    {
    }

    cluster::Status run()
    {
        while (m_next < m_arguments.size()) {
            const std::string &argument = m_arguments[m_next++];
            const auto status = isFlag(argument) ? applyFlag(argument) : applyPositional(argument);
            if (!status)
                return status;
        }
        return {};
    }

private:
    const CommandLine &m_line;
    const std::vector<std::string> &m_arguments;
    std::size_t m_next = 0;

    [[nodiscard]] bool valueFollows() const
    {
        return m_next < m_arguments.size() && !isFlag(m_arguments[m_next]);
    }

    cluster::Status applyPositional(const std::string &argument)
    {
        if (m_line.positional)
            return m_line.positional(argument);
        return cluster::fail(ErrorCode::InvalidArgument, "unexpected argument '" + argument + "'");
    }

    [[nodiscard]] const Flag *find(const std::string &name) const
    {
        const auto found = std::find_if(m_line.flags.begin(), m_line.flags.end(),
                                        [&name](const Flag &flag) { return flag.name == name; });
        return found == m_line.flags.end() ? nullptr : &*found;
    }

    [[nodiscard]] std::string canonicalName(std::string name) const
    {
        std::replace(name.begin(), name.end(), '_', '-');
        const auto alias = std::find_if(m_line.aliases.begin(), m_line.aliases.end(),
                                        [&name](const auto &entry) { return entry.first == name; });
        return alias == m_line.aliases.end() ? name : alias->second;
    }

    cluster::Status applyFlag(const std::string &argument)
    {
        const std::size_t equals = argument.find('=');
        const std::string written = argument.substr(0, equals);
        const std::string name = canonicalName(written);
        const bool inlined = equals != std::string::npos;
        const std::string value = inlined ? argument.substr(equals + 1) : std::string();

        const Flag *flag = find(name);
        bool negated = false;
        if (flag == nullptr && name.starts_with("--no-")) {
            const Flag *positive = find("--" + name.substr(5));
            if (positive != nullptr
                && (positive->kind == Flag::Kind::Switch || positive->kind == Flag::Kind::IgnoredSwitch)) {
                flag = positive;
                negated = true;
            }
        }
        if (flag == nullptr) // vLLM's --compilation-config.level 3
            flag = find(name.substr(0, name.find('.')));
        if (flag == nullptr)
            return unknown(written, name);
        switch (flag->kind) {
        case Flag::Kind::Switch:
        case Flag::Kind::IgnoredSwitch:
            return applySwitch(*flag, negated, inlined, value);
        case Flag::Kind::Values:
            return applyValues(*flag, inlined, value);
        default:
            return applyValue(*flag, inlined, value);
        }
    }

    cluster::Status applySwitch(const Flag &flag, bool negated, bool inlined, const std::string &value)
    {
        std::string state = inlined ? value : "true";
        std::transform(state.begin(), state.end(), state.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        if (state != "true" && state != "false")
            return cluster::fail(ErrorCode::InvalidArgument,
                                 flag.name + " is a switch: it takes true or false, not '" + value + "'");
        const bool on = (state == "true") != negated;
        return apply(flag, on ? "true" : "false");
    }

    cluster::Status applyValue(const Flag &flag, bool inlined, const std::string &value)
    {
        if (inlined)
            return apply(flag, value);
        if (!valueFollows()) {
            // What an ignored flag takes is not always known: some are switches in one version of vLLM.
            if (flag.kind == Flag::Kind::IgnoredValue)
                return apply(flag, "");
            return cluster::fail(ErrorCode::InvalidArgument, flag.name + " needs a value");
        }
        return apply(flag, m_arguments[m_next++]);
    }

    cluster::Status applyValues(const Flag &flag, bool inlined, const std::string &value)
    {
        if (inlined)
            return apply(flag, value);
        if (!valueFollows())
            return cluster::fail(ErrorCode::InvalidArgument, flag.name + " needs at least one value");
        while (valueFollows()) {
            if (auto status = apply(flag, m_arguments[m_next++]); !status)
                return status;
        }
        return {};
    }

    cluster::Status apply(const Flag &flag, const std::string &value) const
    {
        if (flag.kind == Flag::Kind::IgnoredValue || flag.kind == Flag::Kind::IgnoredSwitch) {
            if (m_line.warn)
                m_line.warn(flag.name + " means nothing here and is ignored");
            return {};
        }
        auto status = flag.apply(value);
        if (!status)
            status.error().message = flag.name + ": " + status.error().message;
        return status;
    }

    [[nodiscard]] cluster::Status unknown(const std::string &written, const std::string &name) const
    {
        std::vector<std::string> names;
        for (const auto &flag : m_line.flags)
            names.push_back(flag.name);
        for (const auto &alias : m_line.aliases)
            names.push_back(alias.first);
        const std::string near = nearest(name, names);
        return cluster::fail(ErrorCode::InvalidArgument,
                             "unknown flag " + written
                                 + (near.empty() ? "; --help lists all" : "; did you mean " + near + "?"));
    }
};

} // namespace

cluster::Status applyArguments(const CommandLine &line, const std::vector<std::string> &arguments)
{
    return Applier(line, arguments).run();
}

std::string describeFlags(const CommandLine &line)
{
    constexpr std::size_t column = 36;
    std::string text;
    for (const auto &flag : line.flags) {
        if (flag.kind == Flag::Kind::IgnoredValue || flag.kind == Flag::Kind::IgnoredSwitch
            || flag.help.empty())
            continue;
        std::string head = "  " + flag.name;
        for (const auto &[alias, name] : line.aliases) {
            if (name == flag.name)
                head += ", " + alias;
        }
        if (!flag.valueName.empty())
            head += " " + flag.valueName;
        head += head.size() < column ? std::string(column - head.size(), ' ')
                                     : "\n" + std::string(column, ' ');
        text += head + flag.help + "\n";
    }
    return text;
}

std::string nearest(std::string_view word, const std::vector<std::string> &candidates)
{
    std::string best;
    std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const auto &candidate : candidates) {
        const std::size_t distance = editDistance(word, candidate);
        if (distance < bestDistance) {
            bestDistance = distance;
            best = candidate;
        }
    }
    return best;
}

} // namespace engine
