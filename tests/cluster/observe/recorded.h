#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tests {

/// Text of a recorded answer to a GET: what comes after its head, whole lines only. `file` is relative to
/// tests/data.
inline std::string recordedBody(const std::string &file)
{
    std::ifstream stream(std::filesystem::path(SLIPWAY_TEST_DATA) / file);
    std::stringstream whole;
    whole << stream.rdbuf();
    const std::string text = whole.str();
    const auto head = text.find("\nHTTP/1.");
    const auto answer = head == std::string::npos ? head : text.find("\n\n", head);
    if (answer == std::string::npos)
        throw std::runtime_error("not a recorded exchange: " + file);
    const std::string body = text.substr(answer + 2);
    const auto cut = body.find("\n... cut, "); // the recorder's remark at the end of a page that it shortened
    return cut == std::string::npos ? body : body.substr(0, body.rfind('\n', cut - 1) + 1);
}

} // namespace tests
