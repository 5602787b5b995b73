#pragma once

#include <utility>

#include "base/units.h"

namespace rm {

// Counts the activations, gradients and state that a rank copies between its device and the host,
// as the copies are queued.
struct HostTraffic {
    Bytes to_device;
    Bytes to_host;

    void add(const HostTraffic& other) {
        to_device += other.to_device;
        to_host += other.to_host;
    }
    // The counts since the last call.
    HostTraffic take() { return std::exchange(*this, {}); }
};

}  // namespace rm
