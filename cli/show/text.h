#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "spec/cost/cost.h"

// Numbers and times formatted for a terminal. Pure.
namespace rm {

std::string compact_count(double value);  // 950, 4.3k, 318k, 1.2M: powers of 1000
std::string context_text(
    std::int64_t tokens);                 // 8K, 1M: powers of 1024 where exact, else the digits
std::string grouped(std::int64_t value);  // 819,200
std::string percent_text(double ratio);   // 46.1%
std::string span_text(Seconds seconds);   // 45s, 3m12s, 2h05m, 5d03h
// " (1.45 USD per device and hour, 2026-11-01)"; empty for none
std::string price_text(const Price& price);
// "the profile's times x 1.08, which earlier runs took on this kind of device"
std::string correction_text(double correction);
std::string energy_text(double joules);  // 820 J, 41.3 kJ, 1.25 kWh; empty for none
// 0-3,8: joins neighbours; shortens a long list to the first few ranges and the last number.
std::string ranges_text(const std::set<int>& numbers);

// `text` in lines of at most `width` characters, broken at blanks (a longer word stays whole); 0:
// one line. Empty for an empty text.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

std::string upper(std::string_view text);
// "JOB_STATE_RUNNING" without "JOB_STATE_" is running.
std::string lower_without(std::string_view prefix, std::string_view name);

// `2h`, `30m`, `3d` before `now`, or 2026-01-02, or 2026-01-02T03:04:05Z (UTC both).
Result<WallTime> parse_since(std::string_view text, WallTime now);

// Third-party text made safe for a terminal: control characters (C0, DEL and C1, which terminals
// obey: a job's data path could clear a screen or set its title) and bytes that are not UTF-8
// become U+FFFD. Line breaks and tabs stay.
std::string printable(std::string_view text);

}  // namespace rm
