#include "worker/probe/arrivals.h"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace rm {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
constexpr double kUncounted = 1.0 / 3;

void drain(const UniqueFd& socket, std::atomic<std::uint64_t>& bytes) {
    std::vector<char> buffer(kBuffer);
    while (true) {
        const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    }
}

// Closing discards the bytes still in flight, instead of waiting for a shaper to pass them.
void hang_up(const UniqueFd& socket) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::shutdown(socket.get(), SHUT_RDWR);
}

void sleep_for(Seconds span) {
    std::this_thread::sleep_for(std::chrono::duration<double>(span.value));
}

}  // namespace

ProbeMessage count_arrivals(const std::vector<UniqueFd>& sockets, Seconds span) {
    const SystemClock clock;
    std::atomic<std::uint64_t> bytes = 0;
    std::vector<std::thread> readers;
    for (const UniqueFd& socket : sockets)
        readers.emplace_back([&socket, &bytes] { drain(socket, bytes); });
    sleep_for({span.value * kUncounted});
    const MonoTime start = clock.mono();
    const std::uint64_t before = bytes;
    sleep_for({span.value * (1 - kUncounted)});
    const std::uint64_t after = bytes;
    const Seconds counted = clock.mono() - start;
    for (const UniqueFd& socket : sockets)
        hang_up(socket);
    for (std::thread& reader : readers)
        reader.join();
    return {.op = ProbeOp::counted,
            .streams = static_cast<std::uint32_t>(sockets.size()),
            .micros = static_cast<std::uint64_t>(counted.value * 1e6),
            .bytes = after - before,
            .total = bytes};
}

}  // namespace rm
