#pragma once

#include <string>
#include <vector>

#include "spec/session.h"

namespace rm {

// An address of a network interface of this machine.
struct InterfaceAddress {
    std::string interface;
    DataAddress at;
    bool is_up = false;  // with a carrier
    bool is_bridge =
        false;  // none of its ports is hardware: it joins containers or machines of one host
    bool operator==(const InterfaceAddress&) const = default;
};
std::vector<InterfaceAddress> interface_addresses();

// At most so many per worker: each costs the survey time.
constexpr std::size_t kMaxDataAddresses = 6;

// The addresses among which the survey may choose: `first`, then private ones of the same family of
// interfaces that are up and lead out of the machine, in the order of `all`. `first` only where it
// is a loopback address: the machine is then the whole cluster.
std::vector<DataAddress> data_candidates(const std::string& first,
                                         const std::vector<InterfaceAddress>& all);
// `address` alone, with its network where an interface has it.
DataAddress pinned_candidate(const std::string& address, const std::vector<InterfaceAddress>& all);

}  // namespace rm
