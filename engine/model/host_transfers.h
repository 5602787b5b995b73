#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/units.h"
#include "engine/model/weight_state.h"
#include "engine/streams/host_traffic.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// Moves data between the device and state that lives on the host: downloads gradients, exchanges
// squares and the clip factor, and uploads updated weights in the compute type. Touches host memory
// in the order of the host stream. Uploads have a stream of their own: they are queued together
// with their update, long before it runs, and would delay all other work on a shared stream.
class HostTransfers {
public:
    // Borrows all; streams.host is there.
    HostTransfers(const RankStreams& streams, const WeightState& state);

    // The state's ops, on the host stream.
    const Ops& ops() const { return ops_; }
    Stream& stream() const { return ops_.stream(); }

    // Adds the device's gradients to sums on the host, of the same type or bf16. `from` stays in
    // use until the host stream has passed this call.
    void take(const TensorView& from, const TensorView& sums, Into into);
    // Uploads master weights, converted to the type of `to` if it differs, once the host stream has
    // reached the call. `free`: compute no longer needs the contents of `to`; null when the host
    // stream has already waited for that: every update waits for the clip factor of its step, which
    // compute forms after all passes. Uploads keep the order of the calls.
    void bring(const TensorView& master, const TensorView& to, const Event* free = nullptr);
    void record_brought(Event& event) { streams_.order.record(*uploads_, event); }
    // Waits until both streams are empty; throws the first error of either.
    void synchronize();

    // (1) f64 in host memory: the squares of the step's gradients, summed on the host stream.
    const TensorView& squares() const { return squares_; }
    void bring_squares(const TensorView& to);  // in the order of the compute stream
    // The host's copy of the device's clip factor (3).
    const TensorView& take_clip(const TensorView& clip);

    HostTraffic take_traffic() { return traffic_.take(); }

private:
    // Holds converted weights until they have been sent.
    struct Slot {
        PinnedBuffer memory;
        std::unique_ptr<Event> ready;
        std::unique_ptr<Event> sent;
    };
    TensorView pinned(DType dtype, std::int64_t count, PinnedBuffer& memory);

    RankStreams streams_;
    Device& device_;
    PinnedBuffer scalar_memory_;
    PinnedBuffer clip_memory_;
    PinnedBuffer block_;  // of gradients to add to sums; empty if the host sees them
    PinnedBuffer workspace_;
    TensorView squares_;
    TensorView clip_;
    std::unique_ptr<Event> clipped_;
    std::unique_ptr<Event> squared_;
    std::array<Slot, 2> slots_;  // in turn: one is sent while the other is filled
    std::size_t next_slot_ = 0;
    HostTraffic traffic_;
    Ops ops_;
    std::unique_ptr<Stream> uploads_;  // last: destroyed before what it uses

    static constexpr Bytes kBlock{std::int64_t{8} << 20};
};

}  // namespace rm
