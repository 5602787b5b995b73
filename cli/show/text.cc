#include "cli/show/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace rm {
namespace {

Result<WallTime> parse_date(const std::string& text) {
    for (const char* pattern : {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"}) {
        std::tm parts{};
        const char* rest = strptime(text.c_str(), pattern, &parts);
        if (rest == nullptr || *rest != '\0') continue;
        return WallTime{static_cast<std::int64_t>(timegm(&parts)) * 1'000'000};
    }
    return invalid_argument("'{}' is not a date", text);
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// Bytes of the character that begins at `at`; 0 when none does.
std::size_t length_at(std::string_view text, std::size_t at) {
    const unsigned lead = byte_at(text, at);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

bool is_control(std::string_view character) {
    const unsigned lead = byte_at(character, 0);
    if (character.size() == 1) return (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f;
    return lead == 0xc2 && byte_at(character, 1) < 0xa0;  // U+0080 to U+009F
}

}  // namespace

std::string compact_count(double value) {
    static constexpr std::string_view kUnits[] = {"", "k", "M", "G", "T", "P"};
    std::size_t unit = 0;
    while (std::abs(value) >= 999.5 && unit + 1 < std::size(kUnits)) {
        value /= 1000;
        ++unit;
    }
    const bool whole = unit == 0 || std::abs(value) >= 99.95;
    return whole ? format("{:.0}{}", value, kUnits[unit]) : format("{:.1}{}", value, kUnits[unit]);
}

std::string context_text(std::int64_t tokens) {
    if (tokens <= 0) return "-";
    if (tokens % (1 << 20) == 0) return format("{}M", tokens >> 20);
    if (tokens % 1024 == 0) return format("{}K", tokens / 1024);
    return format("{}", tokens);
}

std::string grouped(std::int64_t value) {
    std::string digits = std::to_string(value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string percent_text(double ratio) {
    return format("{:.1}%", ratio * 100);
}

std::string correction_text(double correction) {
    return format("the profile's times x {:.3}, which earlier runs took on this kind of device",
                  correction);
}

std::string span_text(Seconds seconds) {
    const auto s = static_cast<std::int64_t>(std::max(0.0, std::round(seconds.value)));
    if (s < 60) return format("{}s", s);
    if (s < 3600) return format("{}m{:02}s", s / 60, s % 60);
    if (s < 86400) return format("{}h{:02}m", s / 3600, s / 60 % 60);
    return format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string price_text(const Price& price) {
    if (price.per_device_hour <= 0) return "";
    return format(" ({} {} per device and hour, {})", price.per_device_hour, price.currency,
                  price.date);
}

std::string energy_text(double joules) {
    constexpr double kPerKiloJoule = 1e3;
    if (joules <= 0) return "";
    if (joules < kPerKiloJoule) return format("{:.0} J", joules);
    if (joules < kJoulesPerKwh) return format("{:.1} kJ", joules / kPerKiloJoule);
    return format("{:.2} kWh", joules / kJoulesPerKwh);
}

std::string ranges_text(const std::set<int>& numbers) {
    constexpr int kMostPieces = 4;
    std::string text;
    int pieces = 0;
    for (auto at = numbers.begin(); at != numbers.end(); ++pieces) {
        if (pieces == kMostPieces) return format("{},..{}", text, *numbers.rbegin());
        const int first = *at;
        int last = first;
        for (++at; at != numbers.end() && *at == last + 1; ++at)
            last = *at;
        text += text.empty() ? "" : ",";
        text += first == last ? format("{}", first) : format("{}-{}", first, last);
    }
    return text;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.size();
        if (width > 0 && end - at > width) {
            end = text.rfind(' ', at + width);
            if (end == std::string::npos || end <= at) end = text.find(' ', at + width);
            end = std::min(end, text.size());
        }
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::string upper(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

std::string lower_without(std::string_view prefix, std::string_view name) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    std::string out(name);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

Result<WallTime> parse_since(std::string_view text, WallTime now) {
    if (const auto span = parse_seconds(text)) return now + Seconds{-span->value};
    if (auto date = parse_date(std::string(text))) return date;
    return invalid_argument(
        "'{}' is not a time; write 30m, 2h or 3d (before now), 2026-01-02 or "
        "2026-01-02T03:04:05Z (UTC)",
        text);
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = length_at(text, at);
        const std::string_view character = text.substr(at, length);
        out += length == 0 || is_control(character) ? kReplacement : character;
        at += length == 0 ? 1 : length;
    }
    return out;
}

}  // namespace rm
