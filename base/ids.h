#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>

#include "base/result.h"

namespace rm {

// A string that names one kind of thing and cannot be mistaken for another.
template <typename Tag>
struct Id {
    std::string value;
    auto operator<=>(const Id&) const = default;
    bool empty() const { return value.empty(); }
};
template <typename Tag>
std::ostream& operator<<(std::ostream& out, const Id<Tag>& id) {
    return out << id.value;
}

using NodeId = Id<struct NodeTag>;        // made at join, kept in the worker's state directory
using JobId = Id<struct JobTag>;          // short: six lower-case letters and digits
using RequestId = Id<struct RequestTag>;  // chosen by the client; makes Submit idempotent
using ClusterId = Id<struct ClusterTag>;

// Checks that the id is as the controller generates them: a letter and five letters or digits, all
// lower case. Job ids become parts of paths: ids from outside are checked before they are used.
Status check_job_id(const JobId& id);

// The cluster-wide number of an attempt; a new value for each; the higher wins everywhere.
struct Epoch {
    std::int64_t value = 0;
    auto operator<=>(const Epoch&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, Epoch epoch) {
    return out << epoch.value;
}

// Controllers count attempts up from 1 or, after a restore, from the seconds since 1970; a hello
// may raise that to less than half of this (controller/core/nodes/check_hello.cc). A worker with a
// higher epoch on disk has damaged files.
constexpr Epoch kHighestEpoch{std::int64_t{1} << 56};

// One device (GPU or CPU slot) of a node.
struct DeviceId {
    NodeId node;
    int index = 0;
    auto operator<=>(const DeviceId&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const DeviceId& device) {
    return out << device.node << ':' << device.index;
}

}  // namespace rm
