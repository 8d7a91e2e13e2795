#include "cluster/local/gcp/upload_sink.h"

#include <algorithm>

namespace cluster::local {

UploadSink::~UploadSink()
{
    if (m_isTemporary)
        static_cast<void>(m_blobs.remove(m_blob)); // the request came to nothing
    if (m_onGone)
        m_onGone();
}

bool UploadSink::write(std::string_view piece)
{
    if (m_skip > 0) { // the client sends again what is here already
        const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(m_skip, piece.size()));
        m_skip -= known;
        piece.remove_prefix(known);
    }
    if (!m_status || piece.empty())
        return m_status.has_value();
    m_status = m_blobs.write(m_blob, m_size, piece);
    if (m_status)
        m_size += piece.size();
    return m_status.has_value();
}

} // namespace cluster::local
