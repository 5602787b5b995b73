#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/units.h"

namespace rm {

// Wall time, microseconds since the Unix epoch, UTC. Orders history; never compared across
// machines.
struct WallTime {
    std::int64_t micros = 0;
    auto operator<=>(const WallTime&) const = default;
};
// A monotonic stamp of one process, nanoseconds from an arbitrary start.
struct MonoTime {
    std::int64_t nanos = 0;
    auto operator<=>(const MonoTime&) const = default;
};
inline Seconds operator-(MonoTime a, MonoTime b) {
    return Seconds{static_cast<double>(a.nanos - b.nanos) * 1e-9};
}
inline Seconds operator-(WallTime a, WallTime b) {
    return Seconds{static_cast<double>(a.micros - b.micros) * 1e-6};
}
inline MonoTime operator+(MonoTime a, Seconds s) {
    return {a.nanos + static_cast<std::int64_t>(s.value * 1e9)};
}
inline WallTime operator+(WallTime a, Seconds s) {
    return {a.micros + static_cast<std::int64_t>(s.value * 1e6)};
}

// Formats the time in UTC by strftime's `pattern`, in whole seconds; at most 63 bytes.
std::string utc_text(WallTime time, const char* pattern);
std::string to_iso8601(WallTime time);  // 2026-01-02T03:04:05Z

class Clock {
public:
    virtual ~Clock() = default;
    virtual WallTime wall() const = 0;
    virtual MonoTime mono() const = 0;
};

class SystemClock final : public Clock {
public:
    WallTime wall() const override;
    MonoTime mono() const override;
};

// For tests: time moves only by advance().
class ManualClock final : public Clock {
public:
    WallTime wall() const override { return wall_; }
    MonoTime mono() const override { return mono_; }
    void advance(Seconds by);

private:
    WallTime wall_{1'750'000'000'000'000};
    MonoTime mono_{1'000'000'000};
};

// Measures the time since construction by a steady clock. For measuring only: state machines
// receive the time as an argument.
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Steady::now() - begin_).count(); }

private:
    using Steady = std::chrono::steady_clock;
    Steady::time_point begin_ = Steady::now();
};

}  // namespace rm
