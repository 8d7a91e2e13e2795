#include "cluster/local/network/join_set.h"

#include <utility>

namespace cluster::local {

JoinSet::JoinSet() : m_joins(std::make_shared<Joins>()) {}

JoinSet::~JoinSet()
{
    closeAll();
}

void JoinSet::start(std::unique_ptr<ByteStream> left, std::unique_ptr<ByteStream> right,
                    std::function<void()> ended)
{
    const std::uint64_t id = m_next++;
    (*m_joins)[id]; // before it starts: it may end at once
    const auto join = StreamJoin::start(std::move(left), std::move(right),
                                        [joins = m_joins, id, ended = std::move(ended)] {
                                            const bool isCut = joins->erase(id) == 0;
                                            if (ended && !isCut)
                                                ended();
                                        });
    if (const auto entry = m_joins->find(id); entry != m_joins->end())
        entry->second = join;
}

void JoinSet::closeAll()
{
    for (const auto &[id, join] : std::exchange(*m_joins, {})) {
        if (const auto open = join.lock())
            open->close();
    }
}

std::size_t JoinSet::size() const
{
    return m_joins->size();
}

} // namespace cluster::local
