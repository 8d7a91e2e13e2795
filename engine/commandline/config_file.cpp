#include "engine/commandline/config_file.h"

#include <algorithm>
#include <ios>
#include <yaml-cpp/yaml.h>

namespace engine {
namespace {

using cluster::ErrorCode;

/// A flag's name without what says yes, no or how much: lists of the file must not be added to by the command
/// line.
std::string bareName(std::string flag)
{
    flag = flag.substr(0, flag.find('='));
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (flag.starts_with("--no-"))
        return flag.substr(5);
    return flag.starts_with("--") ? flag.substr(2) : flag;
}

bool isGiven(const std::vector<std::string> &arguments, const std::string &key)
{
    return std::any_of(arguments.begin(), arguments.end(), [&key](const std::string &argument) {
        return argument.starts_with('-') && bareName(argument) == bareName("--" + key);
    });
}

/// Throws YAML::Exception with the flag's name if its value is no text, number or list of them.
std::string textOf(const std::string &key, const YAML::Node &value)
{
    if (!value.IsScalar())
        throw YAML::Exception(value.Mark(), "'" + key + "' must have a text, a number or a list of them");
    return value.as<std::string>();
}

void addFlag(std::vector<std::string> &flags, const std::string &key, const YAML::Node &value)
{
    const std::string name = "--" + key;
    if (value.IsSequence()) {
        flags.push_back(name);
        for (const auto &item : value)
            flags.push_back(textOf(key, item));
        return;
    }
    const auto text = textOf(key, value);
    if (key == "model") // may be overridden by the positional one
        flags.insert(flags.end(), {"--model", text});
    else
        flags.push_back(name + "=" + text);
}

cluster::Result<std::vector<std::string>> readFlags(const std::string &path,
                                                    const std::vector<std::string> &commandLine)
{
    try {
        const YAML::Node root = YAML::LoadFile(path);
        if (!root.IsMap())
            return cluster::fail(ErrorCode::InvalidArgument,
                                 "--config: '" + path + "' holds no mapping of flag names to values");
        std::vector<std::string> flags;
        for (const auto &entry : root) {
            const auto key = entry.first.as<std::string>();
            if (!isGiven(commandLine, key))
                addFlag(flags, key, entry.second);
        }
        return flags;
    } catch (const std::ios_base::failure &) { // a folder
        return cluster::fail(ErrorCode::InvalidArgument, "--config: cannot read '" + path + "'");
    } catch (const YAML::BadFile &) {
        return cluster::fail(ErrorCode::NotFound, "--config: cannot read '" + path + "'");
    } catch (const YAML::Exception &error) {
        return cluster::fail(ErrorCode::InvalidArgument, "--config: '" + path + "': " + error.what());
    }
}

} // namespace

cluster::Result<std::vector<std::string>> withConfigFile(const std::vector<std::string> &arguments)
{
    std::vector<std::string> fromFile;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string path;
        if (arguments[i].starts_with("--config=")) {
            path = arguments[i].substr(9);
        } else if (arguments[i] == "--config") {
            if (++i == arguments.size())
                return cluster::fail(ErrorCode::InvalidArgument, "--config needs a value");
            path = arguments[i];
        } else {
            others.push_back(arguments[i]);
            continue;
        }
        auto flags = readFlags(path, arguments);
        if (!flags)
            return flags;
        fromFile.insert(fromFile.end(), flags->begin(), flags->end());
    }
    fromFile.insert(fromFile.end(), others.begin(), others.end());
    return fromFile;
}

} // namespace engine
