#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "kernels/device.h"
#include "spec/mesh.h"
#include "spec/report.h"

namespace rm {

class Communicator;
struct CommProgress;

// An established connection, its ends as the socket names them: "127.0.0.2:40112", "[::1]:40112";
// both are kSharedMemory where it is that.
struct Connection {
    int peer = 0;  // its rank
    std::string own;
    std::string other;
};

// How the ranks of an attempt reach each other. A Transport stages tensors through host memory over
// messages of its own (`local`, `gloo`); NCCL moves them from device to device (`nccl`).
class Network {
public:
    virtual ~Network() = default;
    virtual std::string_view name() const = 0;
    // For people: "gloo", "nccl 2.28.3 on eth0".
    virtual std::string description() const { return std::string(name()); }
    virtual int rank() const = 0;
    virtual int num_ranks() const = 0;

    // The stream that this network's collectives run on, and its communicator on that stream. All
    // arguments, and the network, outlive what is made.
    virtual std::unique_ptr<Stream> make_stream(Device& device) = 0;
    virtual std::unique_ptr<Communicator> make_communicator(Device& device, Stream& stream,
                                                            const Mesh& mesh,
                                                            CommProgress& progress) = 0;

    // Limits each wait for a peer from now on; the limit depends on the phase at hand. Any thread.
    virtual void set_timeout(Seconds timeout) = 0;
    // Ends what waits for a peer, now and later, with this reason. Any thread.
    virtual void abort(const std::string& reason) = 0;

    // The address it listens on, without a port, and its connections by ascending rank, as they
    // were when it was made; empty where it has none of its own to name.
    virtual std::string address() const { return ""; }
    virtual std::vector<Connection> connections() const { return {}; }
    // Arrival rates of messages since the last call, by peer; empty where they are not measured.
    // Any thread, one at a time.
    virtual std::map<int, HopRate> take_arrivals() { return {}; }
};

}  // namespace rm
