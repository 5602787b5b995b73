#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

// One measurement of the survey, as the controller asks for it and as a worker answers.
namespace rm {

// link: from this worker to another. node: inside this worker, between its devices and its memory.
enum class ProbeKind { link, node };

// To the receiving end: who brings this nonce within this time may send it as much as it wants to.
struct ExpectProbe {
    std::string nonce;
    Seconds valid{20};
    bool operator==(const ExpectProbe&) const = default;
};

// To the sending end. Of a node's own probe only `id` and `kind` are looked at.
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

// What arrived at the receiving end, by its clock, without the beginning (slow start, what shapers
// let through before they shape).
struct BandwidthSample {
    int streams = 1;
    GbitPerSec rate;
    Bytes bytes;      // that arrived in all
    Seconds seconds;  // that were counted
    double loss = 0;  // retransmitted segments / segments sent
    bool operator==(const BandwidthSample&) const = default;
};

// Copies inside a node. A device is its index, the host kHostEnd.
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

struct ProbeReport {
    std::uint64_t id = 0;
    std::string error;  // why there is nothing; empty: all went well
    std::vector<BandwidthSample> samples;
    Seconds latency;  // one way: half of the median round trip of a small message
    Seconds jitter;   // median distance of the round trips from their median, halved like it
    std::vector<InsideSample> inside;
    bool operator==(const ProbeReport&) const = default;
};

}  // namespace rm
