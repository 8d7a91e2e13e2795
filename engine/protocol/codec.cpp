#include "engine/protocol/codec.h"

#include <boost/pfr/core.hpp>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace engine {
namespace {

using Json = nlohmann::json;
using cluster::ErrorCode;

constexpr std::size_t maxDepth = 16; ///< Messages nest about 8 deep; the CBOR reader recurses.

/// Thrown within this file only, turned into a Result at its edge.
struct BadMessage
{
    std::string what;
};

// --- values to JSON
// ------------------------------------------------------------------------------------------

template<typename T>
struct IsVector : std::false_type
{
};
template<typename T>
struct IsVector<std::vector<T>> : std::true_type
{
};
template<typename T>
struct IsOptional : std::false_type
{
};
template<typename T>
struct IsOptional<std::optional<T>> : std::true_type
{
};
template<typename T>
struct IsPair : std::false_type
{
};
template<typename T, typename U>
struct IsPair<std::pair<T, U>> : std::true_type
{
};
template<typename T>
struct IsVariant : std::false_type
{
};
template<typename... Ts>
struct IsVariant<std::variant<Ts...>> : std::true_type
{
};

FinishReason lastOf(FinishReason /*kind*/)
{
    return FinishReason::Abort;
}

ErrorCode lastOf(ErrorCode /*kind*/)
{
    return ErrorCode::Unknown;
}

/// Structs become arrays of their fields in the order of their declaration.
template<typename T>
Json toJson(const T &value)
{
    if constexpr (std::is_enum_v<T>) {
        return static_cast<int>(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (std::is_same_v<T, Seconds>) {
        return value.count();
    } else if constexpr (IsOptional<T>::value) {
        return value ? Json::array({toJson(*value)}) : Json(nullptr);
    } else if constexpr (IsVector<T>::value) {
        Json array = Json::array();
        array.get_ref<Json::array_t &>().reserve(value.size());
        for (const auto &item : value)
            array.push_back(toJson(item));
        return array;
    } else if constexpr (IsPair<T>::value) {
        return Json::array({toJson(value.first), toJson(value.second)});
    } else if constexpr (IsVariant<T>::value) {
        Json pair = Json::array({value.index(), nullptr});
        pair[1] = std::visit([](const auto &item) { return toJson(item); }, value);
        return pair;
    } else {
        Json array = Json::array();
        boost::pfr::for_each_field(value, [&array](const auto &field) { array.push_back(toJson(field)); });
        return array;
    }
}

// --- JSON to values
// ------------------------------------------------------------------------------------------

template<typename T>
void fromJson(const Json &json, T &value);

template<typename T>
void readInteger(const Json &json, T &value)
{
    if (json.is_number_unsigned()) {
        const auto number = json.get<std::uint64_t>();
        if (!std::in_range<T>(number))
            throw BadMessage{"an integer out of range"};
        value = static_cast<T>(number);
    } else if (json.is_number_integer()) {
        const auto number = json.get<std::int64_t>();
        if (!std::in_range<T>(number))
            throw BadMessage{"an integer out of range"};
        value = static_cast<T>(number);
    } else {
        throw BadMessage{std::string("an integer was expected, not ") + json.type_name()};
    }
}

template<typename T>
void readEnum(const Json &json, T &value)
{
    int number = 0;
    readInteger(json, number);
    if (number < 0 || number > static_cast<int>(lastOf(T{})))
        throw BadMessage{"an unknown enumerator " + std::to_string(number)};
    value = static_cast<T>(number);
}

template<typename T>
void readVariant(const Json &json, T &value)
{
    if (!json.is_array() || json.size() != 2)
        throw BadMessage{"a kind and a value were expected"};
    std::size_t kind = 0;
    readInteger(json[0], kind);
    if (kind >= std::variant_size_v<T>)
        throw BadMessage{"an unknown kind " + std::to_string(kind)};
    const auto readKinds = [&]<std::size_t... I>(std::index_sequence<I...>)
    {
        const auto readOne = [&]<std::size_t Kind>(std::integral_constant<std::size_t, Kind>) {
            if (Kind == kind)
                fromJson(json[1], value.template emplace<Kind>());
        };
        (readOne(std::integral_constant<std::size_t, I>{}), ...);
    };
    readKinds(std::make_index_sequence<std::variant_size_v<T>>{});
}

template<typename T>
void readVector(const Json &json, T &value)
{
    if (!json.is_array())
        throw BadMessage{std::string("an array was expected, not ") + json.type_name()};
    value.clear();
    value.reserve(json.size());
    for (const auto &item : json)
        fromJson(item, value.emplace_back());
}

template<typename T>
void readStruct(const Json &json, T &value)
{
    constexpr std::size_t count = boost::pfr::tuple_size_v<T>;
    if (!json.is_array() || json.size() != count)
        throw BadMessage{std::to_string(count) + " fields were expected"};
    std::size_t index = 0;
    boost::pfr::for_each_field(value, [&](auto &field) { fromJson(json[index++], field); });
}

template<typename T>
void fromJson(const Json &json, T &value)
{
    if constexpr (std::is_enum_v<T>) {
        readEnum(json, value);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!json.is_boolean())
            throw BadMessage{std::string("true or false was expected, not ") + json.type_name()};
        value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
        readInteger(json, value);
    } else if constexpr (std::is_floating_point_v<T>) {
        if (!json.is_number())
            throw BadMessage{std::string("a number was expected, not ") + json.type_name()};
        value = json.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (!json.is_string())
            throw BadMessage{std::string("a text was expected, not ") + json.type_name()};
        value = json.get_ref<const std::string &>();
    } else if constexpr (std::is_same_v<T, Seconds>) {
        double seconds = 0;
        fromJson(json, seconds);
        value = Seconds(seconds);
    } else if constexpr (IsOptional<T>::value) {
        value.reset();
        if (json.is_null())
            return;
        if (!json.is_array() || json.size() != 1)
            throw BadMessage{"nothing or one value was expected"};
        fromJson(json[0], value.emplace());
    } else if constexpr (IsVector<T>::value) {
        readVector(json, value);
    } else if constexpr (IsPair<T>::value) {
        if (!json.is_array() || json.size() != 2)
            throw BadMessage{"two values were expected"};
        fromJson(json[0], value.first);
        fromJson(json[1], value.second);
    } else if constexpr (IsVariant<T>::value) {
        readVariant(json, value);
    } else {
        readStruct(json, value);
    }
}

// --- CBOR
// ----------------------------------------------------------------------------------------------------

/// Builds arrays and scalars, which is all the encoder writes; refuses the rest and too deep nesting before
/// the recursive reader can run out of stack.
class Builder
{
public:
    Json root;
    std::string problem = "not CBOR";

    bool null() { return put(nullptr); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(value); }
    bool number_unsigned(std::uint64_t value) { return put(value); }
    bool number_float(double value, const std::string & /*text*/) { return put(value); }
    bool string(std::string &value) { return put(std::move(value)); }
    bool binary(Json::binary_t & /*value*/) { return refuse("a byte string"); }
    bool start_object(std::size_t /*count*/) { return refuse("a map"); }
    bool key(std::string & /*name*/) { return refuse("a map"); }
    bool end_object() { return refuse("a map"); }

    bool start_array(std::size_t /*count*/)
    {
        if (m_open.size() >= maxDepth)
            return refuse("too deep nesting");
        if (m_open.empty()) {
            root = Json::array();
            m_open.push_back(&root);
        } else {
            m_open.back()->push_back(Json::array());
            m_open.push_back(&m_open.back()->back());
        }
        return true;
    }

    bool end_array()
    {
        m_open.pop_back();
        return true;
    }

    bool parse_error(std::size_t position, const std::string & /*token*/, const Json::exception & /*error*/)
    {
        problem = "not CBOR at byte " + std::to_string(position);
        return false;
    }

private:
    std::vector<Json *> m_open;

    bool put(Json value)
    {
        if (m_open.empty())
            return refuse("a bare value");
        m_open.back()->push_back(std::move(value));
        return true;
    }

    bool refuse(const char *what)
    {
        problem = std::string(what) + " where none may be";
        return false;
    }
};

template<typename Message>
cluster::Result<std::string> encode(const Message &message)
{
    std::string frame(frameHeaderBytes, '\0');
    Json::to_cbor(toJson(message), frame);
    const std::size_t size = frame.size() - frameHeaderBytes;
    if (size > maxFrameBytes)
        return cluster::fail(ErrorCode::ResourceExhausted,
                             "a message of " + std::to_string(size) + " bytes is over the limit of "
                                 + std::to_string(maxFrameBytes) + " between front and runner");
    for (std::size_t i = 0; i < frameHeaderBytes; ++i)
        frame[i] = static_cast<char>((size >> (8 * i)) & 0xFFU);
    return frame;
}

template<typename Message>
cluster::Result<Message> decode(std::string_view body)
{
    std::string problem;
    try {
        Builder builder;
        if (Json::sax_parse(body.begin(), body.end(), &builder, Json::input_format_t::cbor)) {
            Message message;
            fromJson(builder.root, message);
            return message;
        }
        problem = builder.problem;
    } catch (const BadMessage &bad) {
        problem = bad.what;
    } catch (const Json::exception &error) {
        problem = error.what();
    }
    return cluster::fail(ErrorCode::DataLoss,
                         "malformed message of " + std::to_string(body.size())
                             + " bytes between front and runner: " + problem);
}

} // namespace

cluster::Result<std::string> encodeFrame(const FrontMessage &message)
{
    return encode(message);
}

cluster::Result<std::string> encodeFrame(const RunnerMessage &message)
{
    return encode(message);
}

cluster::Result<FrontMessage> decodeFrontMessage(std::string_view body)
{
    return decode<FrontMessage>(body);
}

cluster::Result<RunnerMessage> decodeRunnerMessage(std::string_view body)
{
    return decode<RunnerMessage>(body);
}

void FrameReader::append(std::string_view bytes)
{
    if (m_start > 0 && m_start >= m_buffer.size() / 2) {
        m_buffer.erase(0, m_start);
        m_start = 0;
    }
    m_buffer.append(bytes);
}

cluster::Result<std::optional<std::string>> FrameReader::next()
{
    if (m_buffer.size() - m_start < frameHeaderBytes)
        return std::nullopt;
    std::size_t size = 0;
    for (std::size_t i = 0; i < frameHeaderBytes; ++i)
        size |= std::size_t{static_cast<unsigned char>(m_buffer[m_start + i])} << (8 * i);
    if (size > maxFrameBytes)
        return cluster::fail(ErrorCode::DataLoss,
                             "a frame of " + std::to_string(size) + " bytes is over the limit of "
                                 + std::to_string(maxFrameBytes) + " between front and runner");
    if (m_buffer.size() - m_start - frameHeaderBytes < size)
        return std::nullopt;
    std::string body = m_buffer.substr(m_start + frameHeaderBytes, size);
    m_start += frameHeaderBytes + size;
    return body;
}

} // namespace engine
