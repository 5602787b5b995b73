#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/os/port_range.h"
#include "base/os/unique_fd.h"
#include "base/result.h"
#include "base/units.h"

// The protocol by which one worker probes another, over TCP between their data addresses. A probe
// is one control connection and, for each bandwidth sample, its data connections. Every connection
// begins with a greeting; then the control connection carries messages both ways and data
// connections carry meaningless bytes one way. Numbers are little-endian, as on every machine of
// this project.
namespace rm {

constexpr std::size_t kNonceBytes = 16;

enum class ProbeRole : std::uint32_t { control = 1, data = 2 };

struct ProbeGreeting {
    std::array<char, 8> magic{'R', 'M', 'P', 'R', 'O', 'B', 'E', '1'};
    std::array<char, kNonceBytes> nonce{};
    ProbeRole role = ProbeRole::control;
    std::uint32_t reserved = 0;
};
static_assert(sizeof(ProbeGreeting) == 32);

enum class ProbeOp : std::uint32_t {
    ping = 1,    // answered with the same
    sample = 2,  // `streams` data connections follow; answered with go, then with counted
    go = 3,      // every data connection is open: send
    counted = 4
};

struct ProbeMessage {
    ProbeOp op = ProbeOp::ping;
    std::uint32_t streams = 0;
    std::uint64_t micros = 0;  // sample: how long to send; counted: how long was counted
    std::uint64_t bytes = 0;   // counted: bytes that arrived in `micros`
    std::uint64_t total = 0;   // counted: all bytes that arrived
};
static_assert(sizeof(ProbeMessage) == 32);

constexpr int kMaxProbeStreams = 64;
constexpr Seconds kLongestSample{5};

// Listeners on the first port of the range that is free at all of the addresses.
// RESOURCE_EXHAUSTED: none is.
Result<std::vector<UniqueFd>> listen_in(const std::vector<std::string>& addresses, PortRange ports);
Result<int> port_of(const UniqueFd& listener);

// Every later read and write of the socket gives up after `patience`.
Result<UniqueFd> dial(const std::string& address, int port, Seconds patience);
void set_patience(const UniqueFd& socket, Seconds patience);

bool send_all(const UniqueFd& socket, const void* bytes, std::size_t size);
bool receive_all(const UniqueFd& socket, void* bytes, std::size_t size);

template <typename T>
bool send_plain(const UniqueFd& socket, const T& value) {
    return send_all(socket, &value, sizeof value);
}
template <typename T>
bool receive_plain(const UniqueFd& socket, T& value) {
    return receive_all(socket, &value, sizeof value);
}

}  // namespace rm
