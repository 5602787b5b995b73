#pragma once

#include "engine/comm/communicator.h"
#include "engine/model/stream_order.h"
#include "kernels/kernels.h"

namespace rm {

// Where a rank's state lives and is updated when that is the host; everything is borrowed.
struct HostSide {
    Kernels& kernels;  // of a host device
    Stream& stream;    // a host stream of the device that computes
};

// One rank's streams and its way to the others; everything is borrowed.
struct RankStreams {
    Kernels& kernels;
    Stream& compute;
    Stream& communication;
    Communicator& communicator;
    Stream& to_host;  // of what waits on the host, and back
    Stream& from_host;
    StreamOrder& order;              // of all these, and of their owners' own
    const HostSide* host = nullptr;  // null: state lives on the device
};

}  // namespace rm
