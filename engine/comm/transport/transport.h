#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/os/port_range.h"
#include "base/units.h"
#include "engine/comm/arrivals.h"
#include "engine/comm/exchange.h"
#include "engine/comm/network.h"

namespace rm {

class TransportError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// One message in flight. Do not touch its memory until Transport::wait has returned for it.
struct MessageHandle {
    std::int64_t id = -1;
};

// Moves byte ranges between ranks; `local` and `gloo` implement it. Messages between one pair of
// ranks arrive in the order they were sent; the receiver names the exact length (a sender that
// disagrees is a timeout over TCP and an error elsewhere). No rank sends to itself. No message is
// over before both sides have posted it, so a send may be waited for only when its receive does not
// depend on that wait. Called by one thread (the rank's communication stream), except abort(). The
// first TransportError ends the transport: no message in flight touches memory after it, every
// later call throws the same reason, and peers see this rank as gone.
class Transport : public Network {
public:
    virtual MessageHandle send(int to, std::span<const std::byte> bytes) = 0;
    virtual MessageHandle recv(int from, std::span<std::byte> bytes) = 0;
    // Throws TransportError naming the peer: timed out, peer gone, or aborted.
    virtual void wait(MessageHandle handle) = 0;

    // A host stream, and the collectives of collectives.h on it.
    std::unique_ptr<Stream> make_stream(Device& device) override;
    std::unique_ptr<Communicator> make_communicator(Device& device, Stream& stream,
                                                    const Mesh& mesh,
                                                    CommProgress& progress) override;

    void set_timeout(Seconds timeout) override { timeout_seconds_ = timeout.value; }
    Seconds timeout() const { return {timeout_seconds_.load()}; }

    // Bytes of payload of the messages whose wait returned, since the start. Any thread.
    std::int64_t bytes_sent() const { return bytes_sent_.load(); }
    std::int64_t bytes_received() const { return bytes_received_.load(); }
    // Time spent inside wait(), since the start. Any thread.
    Seconds waited() const { return {static_cast<double>(waited_nanos_.load()) * 1e-9}; }
    std::map<int, HopRate> take_arrivals() override { return arrivals_.take(); }

protected:
    Transport() = default;
    Transport(const std::vector<int>& peers, Seconds timeout)
        : arrivals_(peers), timeout_seconds_(timeout.value) {}

    Arrivals arrivals_;
    std::atomic<std::int64_t> bytes_sent_{0};
    std::atomic<std::int64_t> bytes_received_{0};
    std::atomic<std::int64_t> waited_nanos_{0};

private:
    std::atomic<double> timeout_seconds_{60};
};

// The ranks each rank talks to: neighbours on every ring of the mesh (see communicator.h), sorted.
using PeerTable = std::vector<std::vector<int>>;  // indexed by rank

// Fault points: `transport.send` and `transport.recv`, passed once per message.
struct TransportOptions {
    int rank = 0;
    int num_ranks = 1;
    std::vector<int> peers;  // connections to make, mutual; empty means none
    PortRange ports;         // to listen on for ranks of other nodes; every rank's
    Seconds timeout{60};     // of connecting, and at first of one wait; comes from the plan
    Faults* faults = nullptr;
    // Shows the peer of a wait as 1 + its rank, and 0 between waits. Null: not shown.
    std::atomic<std::int32_t>* waits_for = nullptr;
    // True ends the wait for peers that have yet to connect, with an error. Null: never.
    const std::atomic<bool>* stop = nullptr;
};

// Ranks as threads of one process; make one hub and one transport per rank from it. With a delay
// every message takes that long from when both sides have posted it, as on a link of that latency:
// this measures how much of it is hidden.
class LocalHub;
struct LocalLinks {
    Seconds delay;  // of every message
};
std::shared_ptr<LocalHub> make_local_hub(int num_ranks, LocalLinks links = {});
std::unique_ptr<Transport> make_local_transport(std::shared_ptr<LocalHub> hub,
                                                const TransportOptions& options);

// Ranks as processes of one or several nodes: shared memory between ranks of one node, which are
// those at the same `address` (a local IP), and TCP between nodes, by gloo. Publishes one blob
// through `exchange` in group "address" and, where there are several nodes, one in group "gloo";
// connects to `options.peers` only. Neither encrypts. Throws TransportError; also when there are
// several nodes and this build has no gloo.
std::unique_ptr<Transport> make_gloo_transport(const std::string& address, Exchange& exchange,
                                               const TransportOptions& options);

}  // namespace rm
