#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/units.h"
#include "engine/model/weight_state.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// Moves data between the device and state that lives on the host: gradients come down, squares and
// the clip factor cross, updated weights go up in the type that computes. Host memory is touched in
// the order of the host stream. Weights go up on a stream of this class's own: they are queued when
// their update is, long before it runs, and would hold up whatever shares a stream with them.
class HostTransfers {
public:
    // Borrows all; streams.host is there.
    HostTransfers(const RankStreams& streams, const WeightState& state);

    // The state's ops, on the host stream.
    const Ops& ops() const { return ops_; }
    Stream& stream() const { return ops_.stream(); }

    // Gradients that are formed on the device, into sums of the same type here. The device's memory
    // is in use until the host stream has passed it.
    void take(const TensorView& from, const TensorView& sums, Into into);
    // Master weights to the device, converted to the type of `to` where it is another, once the
    // host stream has come to them. `free`: compute is through with what `to` holds; null where the
    // host stream has waited for that already, as every update waits for the clip factor of its
    // step, which compute forms behind all passes. They go up in the order of the calls.
    void bring(const TensorView& master, const TensorView& to, const Event* free = nullptr);
    void record_brought(Event& event) { streams_.order.record(*uploads_, event); }
    // Waits until both streams are empty; throws the first error of either.
    void synchronize();

    // (1) f64 in host memory: the squares of the step's gradients, summed on the host stream.
    const TensorView& squares() const { return squares_; }
    void bring_squares(const TensorView& to);  // in the order of the compute stream
    // The clip factor of the device (3), here.
    const TensorView& take_clip(const TensorView& clip);

private:
    // Where converted weights wait until they have been sent.
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
    PinnedBuffer block_;  // of gradients that are added to sums; none where the host sees them
    PinnedBuffer workspace_;
    TensorView squares_;
    TensorView clip_;
    std::unique_ptr<Event> clipped_;
    std::unique_ptr<Event> squared_;
    std::array<Slot, 2> slots_;  // in turn: one is sent while the other is filled
    std::size_t next_slot_ = 0;
    Ops ops_;
    std::unique_ptr<Stream> uploads_;  // last: it ends before what it uses

    static constexpr Bytes kBlock{std::int64_t{8} << 20};
};

}  // namespace rm
