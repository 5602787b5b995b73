#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/pulse.h"
#include "engine/comm/transport/transport.h"
#include "kernels/device.h"
#include "spec/mesh.h"

namespace rm {

// The groups a rank communicates in: one per mesh axis; `gradient`, the ranks that hold the same
// parameters and see different tokens (data x ring x ulysses), which is the ZeRO group; `world`,
// all ranks; `ring_inner` and `ring_outer`, the rank's two rings when the ring is a double one.
// The mesh's axes come first, in the order of Axis.
enum class GroupKey { data, ring, ulysses, tensor, gradient, world, ring_inner, ring_outer };
constexpr std::array<GroupKey, 8> kGroupKeys = {
    GroupKey::data,     GroupKey::ring,  GroupKey::ulysses,    GroupKey::tensor,
    GroupKey::gradient, GroupKey::world, GroupKey::ring_inner, GroupKey::ring_outer};
std::string_view to_string(GroupKey key);
std::string_view axis_name(GroupKey key);  // in reports: two rings are one axis
GroupKey group_key(Axis axis);
Group make_group(const Mesh& mesh, int rank, GroupKey key);

// Next and previous of every group of every rank, and all of its ulysses and tensor groups, sorted:
// what each transport has to connect.
PeerTable peers_of(const Mesh& mesh);

enum class CommOp {
    ring_shift = 0,
    all_reduce_sum = 1,
    all_gather = 2,
    broadcast = 3,
    barrier = 4,
    reduce_scatter_sum = 5,
    all_to_all = 6
};
constexpr std::size_t kNumCommOps = 7;
std::string_view to_string(CommOp op);

// For the progress page: plain atomics that may lie in mapped memory. `entered` > `left` while a
// collective is under way; `last` is the latest one entered, 0 before the first (see comm_name).
// `waits_for` is written by the transport (TransportOptions).
struct CommProgress {
    std::atomic<std::int64_t> entered{0};
    std::atomic<std::int64_t> left{0};
    std::atomic<std::int32_t> last{0};
    std::atomic<std::int32_t> waits_for{0};  // 1 + the rank that a wait is for; 0: none
    Pulse pulse;                             // beats with every collective and every phase
};
std::string comm_name(
    std::int32_t id);  // "ring ring_shift", "gradient all_reduce_sum"; 0 is "none"

struct CommCounters {
    std::map<std::string, std::int64_t> bytes_sent;     // payload by comm_name; only what has moved
    std::map<std::string, std::int64_t> bytes_by_axis;  // the same, by axis_name
    Seconds waited;                                     // for messages of peers, in collectives
};

// The queued form of the collectives, used by the engine: each method queues onto the communication
// stream and returns. Operands must live and stay untouched until an event recorded after the call
// has passed; ordering against compute is by events, the engine's job. One thread issues all of a
// rank's communication, in program order, the same on every rank. A failure is sticky on the
// stream. Groups of one move nothing and queue nothing. Queued work declares the memory it touches
// and its Traffic for each group, numbered by GroupKey. A Network makes it: the networks differ in
// how they play a collective and in the order of its sums (docs/communication.md).
class Communicator {
public:
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    // Waits for what is queued; after a failure elsewhere, abort the network first.
    virtual ~Communicator() = default;

    // `out` goes to the next rank, and `in` is as long as the previous rank's.
    void ring_shift(GroupKey key, const TensorView& out, const TensorView& in);
    // Shifts on several rings at once. The progress page shows one collective, of the first shift's
    // group; the bytes count for each shift's own group.
    struct Shift {
        GroupKey key;
        TensorView out;
        TensorView in;
    };
    void ring_shifts(std::vector<Shift> shifts);
    void all_reduce_sum(GroupKey key, const TensorView& x);
    void reduce_scatter_sum(GroupKey key, const TensorView& x);
    void all_gather(GroupKey key, const TensorView& whole);
    void all_to_all(GroupKey key, const TensorView& out, const TensorView& in);
    void broadcast(GroupKey key, const TensorView& x, int root_index);
    void barrier(GroupKey key);

    const Group& group(GroupKey key) const { return groups_[usize(key)]; }
    CommCounters counters() const;  // any thread

protected:
    // One collective, as it is queued.
    struct Collective {
        GroupKey key = GroupKey::world;
        CommOp op = CommOp::barrier;
        TensorView x;   // the operand; of all_to_all, what goes out
        TensorView in;  // of all_to_all
        int root_index = 0;
        std::vector<Shift> shifts = {};  // of ring_shift, which has no x
        // The memory that it touches, but for the network's own, and what it sends.
        std::vector<MemoryRange> reads = {};
        std::vector<MemoryRange> writes = {};
        std::vector<Traffic> sent = {};

        std::int32_t id() const;  // see comm_name
    };
    // How a network cuts tensors into messages.
    struct Cutting {
        const Staging& staging;
        Bytes scratch;  // of sums
    };

    Communicator(int rank, const Mesh& mesh);
    virtual void enqueue(Collective collective) = 0;
    virtual Cutting cutting() const = 0;
    virtual Seconds waited() const = 0;

    const std::string& name(const Collective& collective) const {
        return names_[usize(collective.id())];
    }
    void count(GroupKey key, CommOp op, std::int64_t bytes);

private:
    void enqueue_sum(GroupKey key, CommOp op, const TensorView& x);

    std::array<Group, kGroupKeys.size()> groups_;
    // Indexed by comm_name's id.
    std::array<std::string, kGroupKeys.size() * kNumCommOps + 1> names_;
    std::array<std::atomic<std::int64_t>, kGroupKeys.size() * kNumCommOps + 1> bytes_sent_{};
};

}  // namespace rm
