#include "engine/serving/json_reading.h"

#include <unordered_map>
#include <vector>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

class TreeBuilder final : public nlohmann::json_sax<Json>
{
public:
    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t & /*text*/) override { return add(value); }
    bool string(string_t &value) override { return add(std::move(value)); }
    bool binary(binary_t & /*value*/) override { return false; }
    bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
    bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t &name) override
    {
        m_open.back().name = std::move(name);
        return true;
    }
    bool parse_error(std::size_t /*position*/, const std::string & /*token*/,
                     const nlohmann::detail::exception & /*error*/) override
    {
        return false;
    }

    Json result;

private:
    struct Container
    {
        Json value;
        string_t name; ///< Of the member that comes.
        std::unordered_map<string_t, std::size_t> places; ///< Of an object's members.
    };

    template<typename Value>
    bool add(Value &&value)
    {
        if (m_open.empty()) {
            result = std::forward<Value>(value);
            return true;
        }
        Container &parent = m_open.back();
        if (parent.value.is_array()) {
            parent.value.push_back(std::forward<Value>(value));
            return true;
        }
        // Past ordered_map, whose own insertion compares with every member.
        Json::object_t::Container &members = parent.value.template get_ref<Json::object_t &>();
        const auto [place, isNew] = parent.places.try_emplace(parent.name, members.size());
        if (isNew)
            members.emplace_back(parent.name, std::forward<Value>(value));
        else
            members[place->second].second = std::forward<Value>(value);
        return true;
    }

    bool open(Json &&value)
    {
        m_open.push_back({std::move(value), {}, {}});
        return true;
    }

    bool close()
    {
        Json value = std::move(m_open.back().value);
        m_open.pop_back();
        return add(std::move(value));
    }

    std::vector<Container> m_open;
};

} // namespace

std::optional<Json> parseJson(std::string_view text)
{
    TreeBuilder builder;
    if (!Json::sax_parse(text.begin(), text.end(), &builder))
        return std::nullopt;
    return std::move(builder.result);
}

} // namespace engine
