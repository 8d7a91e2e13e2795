#pragma once

#include "cluster/local/kubelet/big_endian.h"
#include "cluster/local/kubelet/spdy_frame.h"
#include <cstdint>
#include <string>

/// Writes down what it is told, data of one stream as one.
struct Notes : cluster::local::SpdyFrameSink
{
    std::string text;
    std::uint32_t lastStream = 0;

    cluster::Status onData(std::uint32_t stream, std::string_view bytes, bool isLast) override
    {
        if (stream != lastStream)
            text += "[" + std::to_string(stream) + "]";
        lastStream = stream;
        text += bytes;
        if (isLast)
            text += "$";
        return {};
    }
    cluster::Status onControl(cluster::local::SpdyType type, std::uint8_t flags,
                              std::string_view payload) override
    {
        lastStream = 0;
        text += "<" + std::to_string(static_cast<int>(type)) + " " + std::to_string(flags) + " "
            + std::to_string(payload.size()) + ">";
        return {};
    }
};

inline std::string big32(std::uint32_t value)
{
    std::string text;
    cluster::local::appendBig32(text, value);
    return text;
}
