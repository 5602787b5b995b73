#pragma once

#include <span>
#include <vector>

#include "topology/routes.h"

// Durations and rates of transfers that share links max-min fairly.
namespace rm {

struct Transfer {
    Endpoint from;
    Endpoint to;
    Bytes bytes;
};

struct TransferTimes {
    std::vector<Seconds> finish;  // of each transfer: when its last byte has left; no latency in it
    // The slowest finish plus the largest latency: the steps of a collective wait for each other,
    // so that the slowest answer holds up all.
    Seconds total;
};

// Transfers that begin at once and share every resource max-min fairly: all rates rise together; a
// transfer whose resource is full, or that has reached its flow limit, stays at its rate; what a
// finished transfer had goes to the others (progressive filling; Bertsekas and Gallager, Data
// Networks, 6.5.2).
TransferTimes transfer_times(const Routes& routes, std::span<const Transfer> transfers);

// The rates of such transfers while all of them move, in bytes per second. Transfers of no bytes
// count as well; those from a device to itself get infinity.
std::vector<double> fair_rates(const Routes& routes, std::span<const Transfer> transfers);

}  // namespace rm
