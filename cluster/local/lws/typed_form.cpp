#include "cluster/local/lws/typed_form.h"

#include "cluster/local/nodes/json_access.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;

namespace {

constexpr std::size_t mostDigits = 17;

struct DecimalSuffix
{
    std::string_view text;
    int exponent;
};
constexpr std::array decimalSuffixes{DecimalSuffix{"n", -9}, DecimalSuffix{"u", -6}, DecimalSuffix{"m", -3},
                                     DecimalSuffix{"", 0},   DecimalSuffix{"k", 3},  DecimalSuffix{"M", 6},
                                     DecimalSuffix{"G", 9},  DecimalSuffix{"T", 12}, DecimalSuffix{"P", 15},
                                     DecimalSuffix{"E", 18}};
constexpr std::array<std::string_view, 6> binarySuffixes{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

/// mantissa * 10^exponent
struct Decimal
{
    std::int64_t mantissa = 0;
    int exponent = 0;
};

/// The number in front; `text` keeps what follows it.
std::optional<Decimal> takeNumber(std::string_view &text)
{
    std::string digits;
    std::size_t used = 0;
    int afterPoint = 0;
    bool hasPoint = false;
    for (; used < text.size(); ++used) {
        const char letter = text[used];
        if (letter == '.' && !hasPoint) {
            hasPoint = true;
        } else if (letter >= '0' && letter <= '9') {
            digits += letter;
            afterPoint += hasPoint ? 1 : 0;
        } else if (used != 0 || letter != '-') {
            break;
        } else {
            digits += letter;
        }
    }
    Decimal number{0, -afterPoint};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number.mantissa);
    if (digits.size() > mostDigits || error != std::errc() || end != digits.data() + digits.size())
        return std::nullopt;
    text.remove_prefix(used);
    return number;
}

/// With an exponent that is one of the suffixes', so that nothing but a whole number stands before it.
std::string decimalText(Decimal number, bool withExponent)
{
    if (number.mantissa == 0)
        return "0";
    while (number.mantissa % 10 == 0) {
        number.mantissa /= 10;
        ++number.exponent;
    }
    std::string zeros;
    const int most = withExponent ? 99 : 18;
    while (number.exponent % 3 != 0 || number.exponent > most) {
        zeros += '0';
        --number.exponent;
    }
    const std::string digits = std::to_string(number.mantissa) + zeros;
    if (withExponent)
        return number.exponent == 0 ? digits : digits + "e" + std::to_string(number.exponent);
    for (const DecimalSuffix &suffix : decimalSuffixes) {
        if (suffix.exponent == number.exponent)
            return digits + std::string(suffix.text);
    }
    return {};
}

std::string binaryText(const Decimal &number, std::size_t power)
{
    std::int64_t value = number.mantissa;
    int tens = -number.exponent;
    // Half a Gi is 512 Mi: what stands after the point goes one suffix down.
    constexpr std::int64_t most = std::int64_t{1} << 52; // so that no product overflows
    for (; tens > 0 && power > 0 && value < most && value > -most; --power)
        for (value *= 1024; tens > 0 && value % 10 == 0; --tens)
            value /= 10;
    if (tens > 0)
        return {};
    for (; value != 0 && value % 1024 == 0 && power < binarySuffixes.size(); ++power)
        value /= 1024;
    return power == 0 ? decimalText({value, 0}, false)
                      : std::to_string(value) + std::string(binarySuffixes[power - 1]);
}

std::string shortest(std::string_view text)
{
    const auto number = takeNumber(text);
    if (!number)
        return {};
    for (const DecimalSuffix &suffix : decimalSuffixes) {
        if (text == suffix.text)
            return decimalText({number->mantissa, number->exponent + suffix.exponent}, false);
    }
    for (std::size_t power = 0; power < binarySuffixes.size(); ++power) {
        if (text == binarySuffixes[power])
            return binaryText(*number, power + 1);
    }
    if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E'))
        return {};
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size() || exponent > 30 || exponent < -9)
        return {};
    return decimalText({number->mantissa, number->exponent + exponent}, true);
}

/// The member, if it is an array of objects: else nothing to go through.
Json &listOf(Json &object, const char *key)
{
    static Json nothing = Json::array();
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_array())
        return nothing;
    return *found;
}

Json *member(Json &object, const char *key)
{
    if (!object.is_object())
        return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
}

void fill(Json &object, const char *key)
{
    if (object.is_object() && at(object, key).is_null())
        object[key] = Json::object();
}

void shorten(Json &object, const char *key)
{
    if (Json *quantity = member(object, key); quantity && (quantity->is_string() || quantity->is_number()))
        *quantity = shortestQuantity(*quantity);
}

void shortenAll(Json &holder, const char *key)
{
    Json *quantities = member(holder, key);
    if (!quantities || !quantities->is_object())
        return;
    for (auto &[name, quantity] : quantities->items()) {
        if (quantity.is_string() || quantity.is_number())
            quantity = shortestQuantity(quantity);
    }
}

void makeTypedResources(Json &holder)
{
    if (Json *resources = member(holder, "resources")) {
        shortenAll(*resources, "limits");
        shortenAll(*resources, "requests");
    }
}

/// resourceFieldRef of a variable or of a file: its divisor is always written.
void makeTypedField(Json &source)
{
    Json *field = member(source, "resourceFieldRef");
    if (!field || !field->is_object())
        return;
    if (at(*field, "divisor").is_null())
        (*field)["divisor"] = "0";
    shorten(*field, "divisor");
}

void makeTypedContainer(Json &container)
{
    fill(container, "resources");
    makeTypedResources(container);
    for (Json &variable : listOf(container, "env")) {
        if (Json *source = member(variable, "valueFrom"))
            makeTypedField(*source);
    }
}

void makeTypedClaim(Json &claim)
{
    fill(claim, "metadata");
    fill(claim, "spec");
    if (!claim.is_object())
        return;
    fill(claim["spec"], "resources");
    makeTypedResources(claim["spec"]);
}

void makeTypedVolume(Json &volume)
{
    if (Json *memory = member(volume, "emptyDir"))
        shorten(*memory, "sizeLimit");
    if (Json *downward = member(volume, "downwardAPI")) {
        for (Json &item : listOf(*downward, "items"))
            makeTypedField(item);
    }
    if (Json *projected = member(volume, "projected")) {
        for (Json &source : listOf(*projected, "sources")) {
            if (Json *downward = member(source, "downwardAPI")) {
                for (Json &item : listOf(*downward, "items"))
                    makeTypedField(item);
            }
        }
    }
    if (Json *ephemeral = member(volume, "ephemeral")) {
        if (Json *claim = member(*ephemeral, "volumeClaimTemplate"))
            makeTypedClaim(*claim);
    }
}

void makeTypedTemplate(Json &podTemplate)
{
    fill(podTemplate, "metadata");
    fill(podTemplate, "spec");
    if (!podTemplate.is_object())
        return;
    Json &spec = podTemplate["spec"];
    for (const char *list : {"containers", "initContainers", "ephemeralContainers"}) {
        for (Json &container : listOf(spec, list))
            makeTypedContainer(container);
    }
    for (Json &volume : listOf(spec, "volumes"))
        makeTypedVolume(volume);
    shortenAll(spec, "overhead");
    makeTypedResources(spec);
}

} // namespace

std::string shortestQuantity(const Json &quantity)
{
    const std::string written = quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
    const std::string shorter = shortest(written);
    return shorter.empty() ? written : shorter;
}

void makeTyped(Json &spec)
{
    Json *group = member(spec, "leaderWorkerTemplate");
    if (!group || !group->is_object())
        return;
    fill(*group, "workerTemplate");
    makeTypedTemplate((*group)["workerTemplate"]);
    if (Json *leader = member(*group, "leaderTemplate"); leader && leader->is_object())
        makeTypedTemplate(*leader);
    for (Json &claim : listOf(*group, "volumeClaimTemplates")) {
        makeTypedClaim(claim);
        fill(claim, "status");
    }
}

} // namespace cluster::local
