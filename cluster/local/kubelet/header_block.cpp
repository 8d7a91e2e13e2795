#include "cluster/local/kubelet/header_block.h"

#include "cluster/local/kubelet/big_endian.h"
#include "cluster/local/kubelet/spdy_dictionary.h"
#include <array>
#include <zlib.h>

namespace cluster::local {

namespace {

tl::unexpected<Error> bad(const char *what)
{
    return fail(ErrorCode::InvalidArgument, std::string("not a SPDY header block: ") + what);
}

// zlib's interface is without const, but it does not write here.
Bytef *bytes(std::string_view text)
{
    return reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
}

Result<std::string_view> takeText(std::string_view &rest)
{
    if (rest.size() < 4)
        return bad("it ends within a length");
    const std::size_t size = readBig32(rest);
    rest.remove_prefix(4);
    if (size > rest.size())
        return bad("a length goes past its end");
    const std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size);
    return text;
}

Result<SpdyHeaders> parsed(std::string_view rest)
{
    if (rest.size() < 4)
        return bad("too short");
    const std::uint32_t count = readBig32(rest);
    rest.remove_prefix(4);
    SpdyHeaders headers;
    for (std::uint32_t i = 0; i < count; ++i) { // each takes 8 bytes at least: bounded by the text
        const auto name = takeText(rest);
        if (!name)
            return tl::unexpected(name.error());
        const auto value = takeText(rest);
        if (!value)
            return tl::unexpected(value.error());
        if (name->empty() || !headers.emplace(*name, *value).second)
            return bad("a name is empty or comes twice");
    }
    if (!rest.empty())
        return bad("something follows it");
    return headers;
}

} // namespace

struct HeaderBlockReader::Private
{
    z_stream zip{};
    std::size_t maxBytes = 0;
    bool isReady = false;
};

HeaderBlockReader::HeaderBlockReader(std::size_t maxBytes) : m_p(std::make_unique<Private>())
{
    m_p->maxBytes = maxBytes;
    m_p->isReady = inflateInit(&m_p->zip) == Z_OK;
}

HeaderBlockReader::~HeaderBlockReader()
{
    if (m_p->isReady)
        inflateEnd(&m_p->zip);
}

Result<std::string> HeaderBlockReader::inflated(std::string_view compressed)
{
    z_stream &zip = m_p->zip;
    std::string text;
    std::array<char, 4096> part{};
    zip.next_in = bytes(compressed);
    zip.avail_in = static_cast<uInt>(compressed.size());
    do {
        zip.next_out = reinterpret_cast<Bytef *>(part.data());
        zip.avail_out = static_cast<uInt>(part.size());
        int result = inflate(&zip, Z_SYNC_FLUSH);
        if (result == Z_NEED_DICT) {
            const std::string &words = spdyDictionary();
            if (inflateSetDictionary(&zip, bytes(words), static_cast<uInt>(words.size())) != Z_OK)
                return bad("compressed with another dictionary");
            result = inflate(&zip, Z_SYNC_FLUSH);
        }
        if (result != Z_OK && result != Z_BUF_ERROR)
            return bad("its compression is broken");
        text.append(part.data(), part.size() - zip.avail_out);
        if (text.size() > m_p->maxBytes)
            return bad("too large");
    } while (zip.avail_out == 0 || (zip.avail_in > 0 && zip.avail_out < part.size()));
    if (zip.avail_in > 0)
        return bad("its compression is broken");
    return text;
}

Result<SpdyHeaders> HeaderBlockReader::read(std::string_view compressed)
{
    if (!m_p->isReady)
        return fail(ErrorCode::ResourceExhausted, "no memory for header decompression");
    const Result<std::string> text = inflated(compressed);
    if (!text)
        return tl::unexpected(text.error());
    return parsed(*text);
}

struct HeaderBlockWriter::Private
{
    z_stream zip{};
    bool isReady = false;
};

HeaderBlockWriter::HeaderBlockWriter() : m_p(std::make_unique<Private>())
{
    const std::string &words = spdyDictionary();
    m_p->isReady = deflateInit(&m_p->zip, Z_DEFAULT_COMPRESSION) == Z_OK;
    if (m_p->isReady)
        deflateSetDictionary(&m_p->zip, bytes(words), static_cast<uInt>(words.size()));
}

HeaderBlockWriter::~HeaderBlockWriter()
{
    if (m_p->isReady)
        deflateEnd(&m_p->zip);
}

std::string HeaderBlockWriter::write(const SpdyHeaders &headers)
{
    std::string text;
    appendBig32(text, static_cast<std::uint32_t>(headers.size()));
    for (const auto &[name, value] : headers) {
        for (const std::string *part : {&name, &value}) {
            appendBig32(text, static_cast<std::uint32_t>(part->size()));
            text += *part;
        }
    }
    z_stream &zip = m_p->zip;
    std::string compressed;
    std::array<char, 1024> part{};
    zip.next_in = bytes(text);
    zip.avail_in = static_cast<uInt>(text.size());
    do {
        zip.next_out = reinterpret_cast<Bytef *>(part.data());
        zip.avail_out = static_cast<uInt>(part.size());
        deflate(&zip, Z_SYNC_FLUSH);
        compressed.append(part.data(), part.size() - zip.avail_out);
    } while (zip.avail_out == 0);
    return compressed;
}

} // namespace cluster::local
