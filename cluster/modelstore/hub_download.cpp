#include "cluster/modelstore/hub_download.h"

#include "cluster/modelstore/new_file.h"
#include "cluster/net/http_client.h"

#include <algorithm>

namespace cluster {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds idleTimeout{60};

bool isWorthAnotherTry(ErrorCode code)
{
    return code == ErrorCode::Unavailable || code == ErrorCode::DataLoss
        || code == ErrorCode::DeadlineExceeded;
}

/// "bytes 100-199/1000" begins at `offset`.
bool beginsAt(const HttpResponse &response, std::uintmax_t offset)
{
    const std::string wanted = "bytes " + std::to_string(offset) + "-";
    return response.header("content-range").value_or("").starts_with(wanted);
}

/// One request, from where `file` ends.
Status fetchRest(HttpClient &http, const HubDownload &download, NewFile &file, const PullOptions &options)
{
    HttpRequest request;
    request.url = download.url;
    for (const auto &[name, value] : download.headers)
        request.headers.push_back({name, value});
    if (file.size() > 0)
        request.headers.push_back({"Range", "bytes=" + std::to_string(file.size()) + "-"});
    HttpOptions http1;
    http1.cancel = options.cancel;
    http1.idleTimeout = idleTimeout;
    http1.followRedirects = true;
    const std::string name = download.url.substr(download.url.rfind('/') + 1);
    const auto onHeaders = [&](const HttpResponse &response) -> Result<Reading> {
        const std::uintmax_t offset = file.size();
        const bool isRest = response.status == 206 && beginsAt(response, offset);
        if (response.status > 299 && response.status != 416)
            return tl::unexpected(
                download.refusal(response.status, response.header("x-error-code").value_or("")));
        // No range, another range, or one behind the end: from the beginning, then.
        if (!isRest && offset > 0) {
            if (auto restarted = file.restart(); !restarted)
                return tl::unexpected(restarted.error());
        }
        if (response.status == 200 || isRest)
            return Reading::Continue;
        return fail(ErrorCode::Unavailable, "the server did not give the rest of " + name);
    };
    const auto onData = [&](std::string_view bytes) -> Result<Reading> {
        if (download.bytes != 0
            && bytes.size() > download.bytes - std::min<std::uintmax_t>(file.size(), download.bytes)) {
            if (auto restarted = file.restart(); !restarted)
                return tl::unexpected(restarted.error());
            return fail(ErrorCode::DataLoss,
                        name + " is longer than the " + std::to_string(download.bytes) + " bytes announced");
        }
        if (auto written = file.write(bytes); !written)
            return tl::unexpected(written.error());
        options.tell("fetching " + name, file.size(), download.bytes);
        return Reading::Continue;
    };
    return http.stream(request, onHeaders, onData, http1).map([](const HttpResponse &) {});
}

} // namespace

Result<std::string> fetchWithResume(HttpClient &http, const HubDownload &download, const fs::path &target,
                                    const PullOptions &options)
{
    Result<NewFile> file = NewFile::create(target, NewFile::Start::Resume);
    if (!file)
        return tl::unexpected(file.error());
    file->keep();
    if (download.bytes > file->size()) {
        if (auto room = checkRoom(target.parent_path(), download.bytes - file->size()); !room)
            return tl::unexpected(room.error());
    }
    const auto isComplete = [&] { return download.bytes != 0 && file->size() == download.bytes; };
    constexpr int maxFruitlessTries = 3;
    for (int fruitless = 0; !isComplete();) {
        const std::uintmax_t before = file->size();
        const Status fetched = fetchRest(http, download, *file, options);
        if (fetched)
            break;
        fruitless = file->size() > before ? 0 : fruitless + 1;
        if (!isWorthAnotherTry(fetched.error().code) || fruitless >= maxFruitlessTries)
            return tl::unexpected(fetched.error());
    }
    if (download.bytes != 0 && !isComplete())
        return fail(ErrorCode::DataLoss,
                    target.filename().string() + " came with " + std::to_string(file->size())
                        + " bytes instead of " + std::to_string(download.bytes) + ": pull again");
    options.tell("checking " + target.filename().string(), file->size(), download.bytes);
    return file->commit(download.sha256);
}

} // namespace cluster
