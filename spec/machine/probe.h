#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

// One measurement of the survey: the controller's request and the worker's answer.
namespace rm {

// link: from this worker to another. node: inside this worker, between its devices and its memory.
enum class ProbeKind { link, node };

// To the receiving end: a caller that presents this nonce within this time may send any amount.
struct ExpectProbe {
    std::string nonce;
    Seconds valid{20};
    bool operator==(const ExpectProbe&) const = default;
};

// To the sending end. A probe of kind `node` uses only `id` and `kind`.
struct RunProbe {
    std::uint64_t id = 0;
    ProbeKind kind = ProbeKind::link;
    NodeId peer;
    std::string address;  // of the peer's probe server, literal
    int port = 0;
    std::string nonce;
    std::vector<int> streams;  // one bandwidth sample each, one after the other
    Seconds each{0.3};         // how long a sample sends
    bool operator==(const RunProbe&) const = default;
};

// Data that arrived at the receiving end, by its clock, without the beginning (TCP slow start,
// bursts that traffic shapers let through).
struct BandwidthSample {
    int streams = 1;
    GbitPerSec rate;
    Bytes bytes;      // received in total
    Seconds seconds;  // time counted
    double loss = 0;  // retransmitted segments / segments sent
    bool operator==(const BandwidthSample&) const = default;
};

// A copy inside a node. Both ends are device indices, or kHostEnd for the host.
constexpr int kHostEnd = -1;
struct InsideSample {
    int from = kHostEnd;
    int to = kHostEnd;
    GbitPerSec rate;
    Seconds latency;  // of the smallest copy
    Bytes bytes;
    Seconds seconds;
    bool operator==(const InsideSample&) const = default;
};

// Devices below one PCI bridge that copied at once: the rates of all of them together.
struct BridgeSample {
    std::string name;  // its PCI address
    std::vector<int> devices;
    GbitPerSec up;    // from the devices to the host
    GbitPerSec down;  // from the host to the devices
    bool operator==(const BridgeSample&) const = default;
};

struct ProbeReport {
    std::uint64_t id = 0;
    std::string error;  // why there are no results; empty: success
    std::vector<BandwidthSample> samples;
    Seconds latency;  // one way: half of the median round trip of a small message
    Seconds jitter;   // median distance of the round trips from their median, halved likewise
    std::vector<InsideSample> inside;
    std::vector<BridgeSample> bridges;  // with several devices
    bool operator==(const ProbeReport&) const = default;
};

}  // namespace rm
