#include "tests/sim/simulator.h"

#include <cmath>
#include <iostream>

namespace rm::sim {
namespace {

constexpr std::size_t kKeptLines = 60;

}  // namespace

void Simulator::after(double seconds, Action action) {
    const std::int64_t at = micros_ + std::llround(seconds * 1e6);
    queue_.emplace(std::pair(at, ++order_), std::move(action));
}

bool Simulator::step() {
    if (queue_.empty()) return false;
    auto next = queue_.extract(queue_.begin());
    micros_ = next.key().first;
    mix(static_cast<std::uint64_t>(micros_) ^ (next.key().second << 40));
    next.mapped()();
    return true;
}

double Simulator::exponential(double mean) {
    return -mean * std::log(1.0 - rng_.uniform());
}

void Simulator::record(const std::string& text) {
    std::string line = format("{:>9.3} {}", now(), text);
    for (const char c : line)
        mix(static_cast<unsigned char>(c));
    if (tracing_ == Tracing::printed) std::cout << line << '\n';
    lines_.push_back(std::move(line));
    if (lines_.size() > kKeptLines) lines_.pop_front();
}

}  // namespace rm::sim
