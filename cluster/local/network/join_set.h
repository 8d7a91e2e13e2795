#pragma once

#include "cluster/local/network/stream_join.h"
#include <cstdint>
#include <map>

namespace cluster::local {

/// The joined connections of one server: counted, and all cut when it goes.
class JoinSet
{
public:
    JoinSet();
    ~JoinSet();
    JoinSet(const JoinSet &) = delete;
    JoinSet &operator=(const JoinSet &) = delete;

    /// `ended`: when this join has ended by itself; not when closeAll() cut it.
    void start(std::unique_ptr<ByteStream> left, std::unique_ptr<ByteStream> right,
               std::function<void()> ended = nullptr);
    void closeAll();
    [[nodiscard]] std::size_t size() const;

private:
    using Joins = std::map<std::uint64_t, std::weak_ptr<StreamJoin>>;

    std::shared_ptr<Joins> m_joins; // shared with the joins' ends, which may come after us
    std::uint64_t m_next = 0;
};

} // namespace cluster::local
