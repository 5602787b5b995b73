#include "base/units.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace rm {

std::string to_string(Bytes bytes) {
    static constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes.value);
    std::size_t unit = 0;
    while (std::abs(value) >= 1024 && unit + 1 < std::size(kNames)) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 ? format("{} B", bytes.value) : format("{:.1} {}", value, kNames[unit]);
}

std::string to_string(Seconds seconds) {
    const double s = seconds.value;
    if (s < 1e-3) return format("{:.0} us", s * 1e6);
    if (s < 1) return format("{:.0} ms", s * 1e3);
    if (s < 60) return format("{:.1} s", s);
    const auto whole = static_cast<std::int64_t>(s);
    if (s < 3600) return format("{}m{:02}s", whole / 60, whole % 60);
    return format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::ostream& operator<<(std::ostream& out, Bytes bytes) {
    return out << to_string(bytes);
}
std::ostream& operator<<(std::ostream& out, Seconds seconds) {
    return out << to_string(seconds);
}

Result<std::int64_t> parse_count(std::string_view text, Suffix suffix) {
    const Error bad = invalid_argument(
        "'{}' is not a token count; write a whole number such as 8192, 64K or 2M{}", text,
        suffix == Suffix::decimal ? " (K, M, B are 10^3, 10^6, 10^9 here)"
                                  : " (K, M are 2^10, 2^20 here)");
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc() || number < 0 || !std::isfinite(number)) return bad;
    const std::string_view tail(rest, static_cast<std::size_t>(end - rest));
    const double base = suffix == Suffix::binary ? 1024 : 1000;
    double factor = 1;
    if (tail == "K" || tail == "k") {
        factor = base;
    } else if (tail == "M" || tail == "m") {
        factor = base * base;
    } else if ((tail == "B" || tail == "b") && suffix == Suffix::decimal) {
        factor = base * base * base;
    } else if (!tail.empty()) {
        return bad;
    }
    const double value = number * factor;
    if (value != std::floor(value) || value > 9e15) return bad;
    return static_cast<std::int64_t>(value);
}

namespace {

struct ByteUnit {
    std::string_view name;
    std::int64_t size;
};
constexpr ByteUnit kByteUnits[] = {{"TiB", std::int64_t{1} << 40},
                                   {"GiB", std::int64_t{1} << 30},
                                   {"MiB", std::int64_t{1} << 20},
                                   {"KiB", std::int64_t{1} << 10},
                                   {"B", 1}};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

const ByteUnit* find_byte_unit(std::string_view name) {
    for (const ByteUnit& unit : kByteUnits) {
        if (unit.name == name) return &unit;
    }
    return nullptr;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    const Error bad = invalid_argument(
        "'{}' is not a size; write a number with B, KiB, MiB, GiB or TiB, such as 40GiB", text);
    const char* end = text.data() + text.size();
    double number = 0;
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    const ByteUnit* unit = find_byte_unit({rest, static_cast<std::size_t>(end - rest)});
    if (failure != std::errc() || unit == nullptr || !(number >= 0)) return bad;
    const double value = number * static_cast<double>(unit->size);
    if (value != std::floor(value) || value > static_cast<double>(kMostBytes)) return bad;
    // A double cannot represent every 64-bit integer.
    std::int64_t whole = 0;
    if (std::from_chars(text.data(), end, whole).ptr == rest) return Bytes{whole * unit->size};
    return Bytes{static_cast<std::int64_t>(value)};
}

Result<Seconds> parse_seconds(std::string_view text) {
    static constexpr std::pair<std::string_view, double> kUnits[] = {
        {"s", 1},       {"second", 1},   {"seconds", 1}, {"min", 60},    {"m", 60},
        {"minute", 60}, {"minutes", 60}, {"h", 3600},    {"hour", 3600}, {"hours", 3600},
        {"d", 86400},   {"day", 86400},  {"days", 86400}};
    const char* end = text.data() + text.size();
    double number = 0;
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    for (const auto& [name, seconds] : kUnits) {
        if (failure == std::errc() && unit == name && number >= 0 && std::isfinite(number)) {
            return Seconds{number * seconds};
        }
    }
    return invalid_argument(
        "'{}' is not a duration; write a number with s, min, h or d, such as 30 min", text);
}

std::string exact_text(Bytes bytes) {
    const ByteUnit* unit = kByteUnits;
    while (bytes.value % unit->size != 0)
        ++unit;
    if (bytes.value == 0) unit = &kByteUnits[std::size(kByteUnits) - 1];
    return format("{}{}", bytes.value / unit->size, unit->name);
}

}  // namespace rm
