#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cluster {

/// SHA-256 of bytes that come in pieces.
class Sha256
{
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256 &&other) noexcept;
    Sha256 &operator=(Sha256 &&other) noexcept;

    void add(std::string_view bytes);
    /// 64 hexadecimal digits in lower case. Nothing may be added afterwards.
    std::string hex();

private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

/// Errors: NotFound or Unknown where the file can't be read, Cancelled.
Result<std::string> sha256OfFile(const std::filesystem::path &path, const CancelToken &cancel = {});

} // namespace cluster
