#include "cluster/modelstore/safetensors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace cluster {

namespace {

using OrderedJson = nlohmann::ordered_json;

tl::unexpected<Error> damaged(const std::string &why)
{
    return fail(ErrorCode::DataLoss, "the safetensors file is damaged: " + why);
}

std::uint64_t littleEndian64(std::string_view bytes)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i)
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
}

Result<SafeTensor> tensorOf(const std::string &name, const OrderedJson &json, std::string_view data)
{
    SafeTensor tensor;
    tensor.name = name;
    const auto type = json.at("dtype").get<std::string>();
    if (type != "F32" && type != "F16")
        return fail(ErrorCode::Unimplemented,
                    "tensor " + name + " is of type " + type + "; F32 and F16 can be converted");
    tensor.isHalf = type == "F16";
    tensor.shape = json.at("shape").get<std::vector<std::uint64_t>>();
    const auto begin = json.at("data_offsets").at(0).get<std::uint64_t>();
    const auto end = json.at("data_offsets").at(1).get<std::uint64_t>();
    if (begin > end || end > data.size())
        return damaged("tensor " + name + " lies outside of the file");
    std::uint64_t size = tensor.isHalf ? 2 : 4;
    for (const std::uint64_t dimension : tensor.shape) {
        if (dimension != 0 && size > data.size() / dimension)
            return damaged("tensor " + name + " is larger than the file");
        size *= dimension;
    }
    if (size != end - begin)
        return damaged("tensor " + name + " has a size that does not fit its shape");
    tensor.bytes = data.substr(begin, size);
    return tensor;
}

/// IEEE 754 binary32 to binary16.
std::uint16_t toHalf(std::uint32_t single)
{
    const std::uint32_t sign = (single >> 16U) & 0x8000U;
    const std::uint32_t magnitude = single & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13U) & 0x3FFU)); // NaN
    if (magnitude >= 0x477FF000U)
        return static_cast<std::uint16_t>(sign | 0x7C00U); // rounds to infinity
    // Where the value becomes subnormal, more of its digits fall off.
    const std::uint32_t exponent = magnitude >> 23U;
    std::uint32_t digits = magnitude;
    std::uint32_t dropped = 13;
    if (exponent < 113) {
        if (exponent < 102)
            return static_cast<std::uint16_t>(sign);
        digits = (magnitude & 0x7FFFFFU) | 0x800000U;
        dropped = 126 - exponent;
    } else {
        digits -= 112U << 23U;
    }
    const std::uint32_t kept = digits >> dropped;
    const std::uint32_t rest = digits & ((1U << dropped) - 1);
    const std::uint32_t half = 1U << (dropped - 1);
    const bool roundsUp = rest > half || (rest == half && (kept & 1U) != 0);
    return static_cast<std::uint16_t>(sign | (kept + (roundsUp ? 1 : 0)));
}

std::uint32_t toSingle(std::uint16_t half)
{
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & 0x1FU;
    std::uint32_t digits = half & 0x3FFU;
    if (exponent == 0x1F)
        return sign | 0x7F800000U | (digits << 13U);
    if (exponent != 0)
        return sign | ((exponent + 112) << 23U) | (digits << 13U);
    if (digits == 0)
        return sign;
    std::uint32_t shift = 0;
    for (; (digits & 0x400U) == 0; ++shift)
        digits <<= 1U;
    return sign | ((113 - shift) << 23U) | ((digits & 0x3FFU) << 13U);
}

} // namespace

Result<std::vector<SafeTensor>> readSafetensors(std::string_view file)
{
    if (file.size() < 8)
        return damaged("it is shorter than its header");
    const std::uint64_t headerSize = littleEndian64(file);
    if (headerSize > file.size() - 8)
        return damaged("its header is longer than the file");
    const OrderedJson header = OrderedJson::parse(file.substr(8, headerSize), nullptr, false);
    if (!header.is_object())
        return damaged("its header is not a JSON object");
    std::vector<SafeTensor> tensors;
    try {
        for (const auto &[name, json] : header.items()) {
            if (name == "__metadata__" || json.at("dtype") == "I64")
                continue;
            Result<SafeTensor> tensor = tensorOf(name, json, file.substr(8 + headerSize));
            if (!tensor)
                return tl::unexpected(tensor.error());
            tensors.push_back(std::move(*tensor));
        }
    } catch (const OrderedJson::exception &exception) {
        return damaged(std::string("its header can't be read: ") + exception.what());
    }
    return tensors;
}

std::string asFloat32(const SafeTensor &tensor)
{
    if (!tensor.isHalf)
        return std::string(tensor.bytes);
    std::string bytes(tensor.bytes.size() * 2, '\0');
    for (std::size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, tensor.bytes.data() + 2 * i, 2);
        const std::uint32_t single = toSingle(half);
        std::memcpy(bytes.data() + 4 * i, &single, 4);
    }
    return bytes;
}

std::string asFloat16(const SafeTensor &tensor)
{
    if (tensor.isHalf)
        return std::string(tensor.bytes);
    std::string bytes(tensor.bytes.size() / 2, '\0');
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
        std::uint32_t single = 0;
        std::memcpy(&single, tensor.bytes.data() + 4 * i, 4);
        const std::uint16_t half = toHalf(single);
        std::memcpy(bytes.data() + 2 * i, &half, 2);
    }
    return bytes;
}

static_assert(std::endian::native == std::endian::little, "the conversions above copy little-endian numbers");

} // namespace cluster
