#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "base/random.h"

// Virtual time, one queue of events and one source of randomness: the same seed repeats everything,
// byte for byte.
namespace rm::sim {

enum class Tracing { off, on, printed };

class Simulator {
public:
    using Action = std::function<void()>;

    Simulator(std::uint64_t seed, Tracing tracing) : rng_(seed), tracing_(tracing) {}

    void after(double seconds, Action action);
    bool step();  // runs the next event; false: there is none

    double now() const { return static_cast<double>(micros_) * 1e-6; }
    std::int64_t micros() const { return micros_; }
    MonoTime mono() const { return {micros_ * 1000 + 1'000'000'000}; }

    std::uint64_t random() { return rng_(); }
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(rng_.below(bound)); }
    double between(double low, double high) { return low + (high - low) * rng_.uniform(); }
    bool chance(double probability) { return rng_.uniform() < probability; }
    double exponential(double mean);

    // One line of the trace.
    template <typename... Args>
    void say(std::string_view pattern, const Args&... args) {
        if (tracing_ != Tracing::off) record(format(pattern, args...));
    }
    // Mixed into the hash even without a trace.
    void mix(std::uint64_t value) { hash_ = mix64(hash_ ^ value); }
    std::uint64_t hash() const { return hash_; }
    std::uint64_t num_events() const { return order_; }
    // Counts events by kind, to show what the simulation reaches.
    void count(const std::string& thing) { ++counts_[thing]; }
    const std::map<std::string, int>& counts() const { return counts_; }
    const std::deque<std::string>& last_lines() const { return lines_; }

private:
    void record(const std::string& text);

    Rng rng_;
    Tracing tracing_;
    std::int64_t micros_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t hash_ = 0;
    std::map<std::pair<std::int64_t, std::uint64_t>, Action> queue_;
    std::deque<std::string> lines_;
    std::map<std::string, int> counts_;
};

}  // namespace rm::sim
