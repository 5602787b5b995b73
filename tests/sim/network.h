#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "spec/session.h"
#include "tests/sim/simulator.h"

// The streams between the workers and the controller. Each direction of a stream is ordered and
// takes a random time; different streams overtake each other. A cut direction holds what is sent
// into it, as a transport that retransmits does, until it heals: until then neither side knows.
namespace rm::sim {

enum class Way { to_controller, to_worker };

struct Dial {};
struct Close {};
using Packet = std::variant<Dial, Close, WorkerMessage, ControllerMessage>;

class Network {
public:
    using Deliver = std::function<void(int stream, Way way, const Packet& packet)>;

    Network(Simulator& sim, Deliver deliver) : sim_(sim), deliver_(std::move(deliver)) {}

    int open(int node);  // a new stream of this node's worker
    int node_of(int stream) const { return streams_.at(stream).node; }
    void send(int stream, Way way, Packet packet);

    void cut(int node, Way way) { cuts_.insert({node, way}); }
    void heal(int node, Way way);
    bool is_cut(int node, Way way) const { return cuts_.contains({node, way}); }

private:
    struct Line {
        std::deque<std::pair<std::int64_t, Packet>> packets;  // with when each is due
        std::int64_t last = 0;
    };
    struct Stream {
        int node = 0;
        Line lines[2];
    };
    void pump(int stream, Way way);

    Simulator& sim_;
    const Deliver deliver_;
    std::map<int, Stream> streams_;
    std::set<std::pair<int, Way>> cuts_;
};

}  // namespace rm::sim
