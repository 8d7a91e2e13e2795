#pragma once

#include <QString>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// One request and its answer as recorded from a real Ray.
struct Recording
{
    std::string method, target, contentType, body;
    int port = 0; ///< that was asked
    int status = 0;
    std::string answerType, answer;

    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(answer, nullptr, false); }
};

/// tests/data/ray/NAME.http. A name that is not there gives a recording with status 0.
Recording recording(const QString &name);

/// The paths of members that `wanted` has and `got` lacks, or has with another type. Null fits everything, a
/// list's first element stands for all, numbers are one type.
std::vector<std::string> missingMembers(const nlohmann::json &wanted, const nlohmann::json &got);
