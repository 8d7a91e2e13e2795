#include "environment.h"

#include <cstdlib>

std::optional<std::string> ownEnvironment(const std::string &name)
{
    const char *value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string buildName()
{
    return "slipway-" SLIPWAY_VERSION "+" SLIPWAY_LLAMA_ID;
}
