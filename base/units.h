#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

struct Bytes {
    std::int64_t value = 0;
    auto operator<=>(const Bytes&) const = default;
    Bytes& operator+=(Bytes other) {
        value += other.value;
        return *this;
    }
};
inline Bytes operator+(Bytes a, Bytes b) {
    return {a.value + b.value};
}
inline Bytes operator*(Bytes a, std::int64_t n) {
    return {a.value * n};
}

struct Seconds {
    double value = 0;
    auto operator<=>(const Seconds&) const = default;
    Seconds& operator+=(Seconds other) {
        value += other.value;
        return *this;
    }
};
inline Seconds operator+(Seconds a, Seconds b) {
    return {a.value + b.value};
}
inline Seconds operator-(Seconds a, Seconds b) {
    return {a.value - b.value};
}

struct GbitPerSec {
    double value = 0;
    auto operator<=>(const GbitPerSec&) const = default;
};

std::string to_string(Bytes bytes);      // 1.5 GiB
std::string to_string(Seconds seconds);  // 412 ms, 3.2 s, 5m12s, 3h04m
std::ostream& operator<<(std::ostream& out, Bytes bytes);
std::ostream& operator<<(std::ostream& out, Seconds seconds);

// Token counts as job files spell them. binary: K, M are 2^10, 2^20 (context, batch, chunk).
// decimal: K, M, B are 10^3, 10^6, 10^9 (token budgets). A fraction must give a whole number.
enum class Suffix { binary, decimal };
Result<std::int64_t> parse_count(std::string_view text, Suffix suffix);

// Sizes as job files spell them: a number and B, KiB, MiB, GiB or TiB that give a whole number of
// bytes. exact_text() is the shortest such text: 40GiB, 1536MiB, 1000B.
Result<Bytes> parse_bytes(std::string_view text);

// "90 s", "30 min", "1.5 h", "2 d", the blank is optional, and "30m" works too; not negative.
Result<Seconds> parse_seconds(std::string_view text);
std::string exact_text(Bytes bytes);

}  // namespace rm
