#include "engine/serving/logprobs_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

double finite(float logprob)
{
    return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

std::string shown(TokenId token, const std::string &piece, bool asId)
{
    return asId ? "token_id:" + std::to_string(token) : readableUtf8(piece);
}

std::size_t characters(const std::string &text)
{
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// The sampled token first, then the best ones without it.
std::vector<Logprob> ordered(const TokenOutput &output)
{
    std::vector<Logprob> all;
    if (output.logprob)
        all.push_back(*output.logprob);
    for (const Logprob &other : output.top) {
        if (!output.logprob || other.token != output.token)
            all.push_back(other);
    }
    return all;
}

Json bytesOf(const std::string &piece)
{
    Json bytes = Json::array();
    for (const char c : piece)
        bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
}

} // namespace

std::string readableUtf8(const std::string &bytes)
{
    std::string text;
    for (std::size_t i = 0; i < bytes.size();) {
        const auto lead = static_cast<unsigned char>(bytes[i]);
        const std::size_t length = lead < 0x80 ? 1
            : lead >= 0xc2 && lead < 0xe0      ? 2
            : lead >= 0xe0 && lead < 0xf0      ? 3
            : lead >= 0xf0 && lead < 0xf5      ? 4
                                               : 0;
        bool whole = length > 0 && i + length <= bytes.size();
        for (std::size_t k = 1; whole && k < length; ++k)
            whole = (static_cast<unsigned char>(bytes[i + k]) & 0xc0) == 0x80;
        if (whole) {
            text += bytes.substr(i, length);
            i += length;
        } else {
            text += "\xEF\xBF\xBD";
            ++i;
        }
    }
    return text;
}

Json completionLogprobs(const std::vector<TokenOutput> &tokens, int top, bool tokensAsIds,
                        std::size_t &offset)
{
    Json offsets = Json::array();
    Json values = Json::array();
    Json names = Json::array();
    Json tops = Json::array();
    for (const TokenOutput &output : tokens) {
        const std::string name = shown(output.token, output.piece, tokensAsIds);
        offsets.push_back(offset);
        offset += characters(name);
        names.push_back(name);
        if (!output.logprob) {
            values.push_back(nullptr);
            tops.push_back(nullptr);
            continue;
        }
        values.push_back(finite(output.logprob->logprob));
        Json best = Json::object();
        int count = 0;
        for (const Logprob &entry : ordered(output)) {
            if (count++ > top) // the sampled one and `top` others at most
                break;
            best[shown(entry.token, entry.piece, tokensAsIds)] = finite(entry.logprob);
        }
        tops.push_back(std::move(best));
    }
    return Json{
        {"text_offset", offsets}, {"token_logprobs", values}, {"tokens", names}, {"top_logprobs", tops}};
}

Json chatLogprobs(const std::vector<TokenOutput> &tokens, int top, bool tokensAsIds)
{
    const auto entry = [&](TokenId token, const std::string &piece, float logprob) {
        return Json{{"token", shown(token, piece, tokensAsIds)},
                    {"logprob", finite(logprob)},
                    {"bytes", bytesOf(tokensAsIds ? shown(token, piece, true) : piece)}};
    };
    Json content = Json::array();
    for (const TokenOutput &output : tokens) {
        Json item = entry(output.token, output.piece, output.logprob ? output.logprob->logprob : -9999.0f);
        Json best = Json::array();
        for (const Logprob &other : ordered(output)) {
            if (static_cast<int>(best.size()) >= top)
                break;
            best.push_back(entry(other.token, other.piece, other.logprob));
        }
        item["top_logprobs"] = std::move(best);
        content.push_back(std::move(item));
    }
    return Json{{"content", content}};
}

Json promptLogprobs(const std::vector<TokenOutput> &promptTokens)
{
    Json list = Json::array();
    for (const TokenOutput &output : promptTokens) {
        if (!output.logprob) {
            list.push_back(nullptr);
            continue;
        }
        Json entries = Json::object();
        for (const Logprob &entry : ordered(output)) {
            entries[std::to_string(entry.token)] = Json{{"logprob", finite(entry.logprob)},
                                                        {"rank", entry.rank},
                                                        {"decoded_token", readableUtf8(entry.piece)}};
        }
        list.push_back(std::move(entries));
    }
    return list;
}

std::string toText(const Json &json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace engine
