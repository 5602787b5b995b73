#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/memory/step_arena.h"
#include "engine/streams/host_traffic.h"
#include "engine/streams/rank_streams.h"
#include "spec/plan.h"

namespace rm {

// The passes over one micro-batch: loss and gradients, the loss alone, the last hidden states; of a
// prompt, its keys and values; of one token that follows, its logits.
enum class PassKind { train, loss, hidden, prompt, decode };
constexpr std::array kPassKinds = {PassKind::train, PassKind::loss, PassKind::hidden,
                                   PassKind::prompt, PassKind::decode};

// The arenas of a rank, pass by pass.
class PassMemory {
public:
    virtual ~PassMemory() = default;
    virtual StepArena& device() = 0;
    virtual StepArena& host() = 0;
    virtual void begin(PassKind kind) = 0;
    virtual void end() = 0;
};

// The requests of each kind of pass, with their places.
struct ArenaPasses {
    std::array<PassRequests, kPassKinds.size()> by_kind;
    Bytes size;  // the most that a pass takes

    PassRequests& of(PassKind kind) { return by_kind[usize(kind)]; }
    const PassRequests& of(PassKind kind) const { return by_kind[usize(kind)]; }
};
struct StageArenas {
    ArenaPasses device;
    ArenaPasses host;
};

// How long the compute stream waited for transfers between host and device.
struct OffloadTimers {
    StreamTimer attention;  // while it attends
    StreamTimer tokens;     // in the loops over chunks of tokens
};

// The streams that touch a group's open windows and that move their rows. `first` touches a window
// that has just been opened, `last` one that is about to be closed, after `first`.
struct WindowStreams {
    Stream& first;
    Stream& last;
    Stream& from_host;
    Stream& to_host;
};

// The streams that may wait for a mark: compute and those that move its windows, or all.
enum class Waiters { windows, all };

// The memory of a pass and the streams that move it: buffers on the device (device arena), stores
// that wait on the host (host arena, pinned), and the waits of the compute stream.
class StepMemory final : public PendingWaits, private StepArena {
public:
    // Borrows all.
    StepMemory(const RankStreams& streams, StepArena& device, StepArena& host,
               const MemoryPolicy& policy);
    StepMemory(const StepMemory&) = delete;
    StepMemory& operator=(const StepMemory&) = delete;
    ~StepMemory() override;

    // Call it when no transfer of an earlier pass is under way.
    void begin_pass();
    // Waits for all transfers under way and gives their buffers back.
    void end_pass();

    ArenaTensor on_device(BufferName name, DType dtype, std::initializer_list<std::int64_t> shape) {
        return {*this, name, dtype, shape};
    }
    // Requests a buffer with the type and the two or three dims of `like`.
    ArenaTensor on_device(BufferName name, const TensorView& like);
    ArenaTensor on_host(BufferName name, DType dtype, std::initializer_list<std::int64_t> shape) {
        return {host_, name, dtype, shape};
    }
    // Gives a buffer back once `mark` has been passed: two calls of settle() from now, so that no
    // stream has to wait for it.
    void release_after(ArenaTensor buffer, const StreamOrder::Mark& mark);
    // Called at the end of a loop over chunks.
    void settle();

    StreamOrder& order() { return streams_.order; }
    WindowStreams compute_streams() const {
        return {streams_.compute, streams_.compute, streams_.from_host, streams_.to_host};
    }
    bool is_compute(const Stream& stream) const { return &stream == &streams_.compute; }
    bool is_compute(const WindowStreams& streams) const {
        return is_compute(streams.first) && is_compute(streams.last);
    }
    // Another stream that moves windows; outlives the passes.
    void add_mover(const Stream& stream) { others_.push_back(&stream); }
    StreamOrder::Mark record(Stream& stream, Waiters waiters);
    // Makes the stream wait before its next op.
    void wait(Stream& stream, const std::vector<StreamOrder::Mark>& marks);
    // Makes the compute stream wait for `mark` before its next op. One timed wait covers all marks
    // passed until then.
    void wait_soon(const StreamOrder::Mark& mark);
    void flush() override;
    // If a stream other than compute is the first to touch a buffer, it waits for these: the marks
    // of all streams that may have used its bytes before. One of `streams` writes to it.
    void add_former_users(std::vector<StreamOrder::Mark>& marks, const WindowStreams& streams);
    Device& device() const { return streams_.kernels.device(); }
    const MemoryPolicy& policy() const { return policy_; }
    NumericTypes types() const { return streams_.kernels.types(); }
    OffloadTimers& exposed() { return exposed_; }
    HostTraffic& traffic() { return traffic_; }
    void enter_attention() { current_ = &exposed_.attention; }
    void leave_attention() { current_ = &exposed_.tokens; }

private:
    struct Leaving {
        ArenaTensor buffer;
        StreamOrder::Mark mark;
    };
    using Marks = std::array<StreamOrder::Mark, StreamOrder::kMaxStreams>;  // by their stream

    TensorView request(BufferName name, DType dtype,
                       std::initializer_list<std::int64_t> shape) override;
    void release(const TensorView& buffer) override;
    static void note(Marks& marks, const StreamOrder::Mark& mark);
    void give_back(std::vector<Leaving>& buffers);
    void join_users();
    bool is_over(const StreamOrder::Mark& mark, Waiters waiters) const;

    RankStreams streams_;
    std::vector<const Stream*> others_;  // that may wait for marks
    StepArena& device_;
    StepArena& host_;
    const MemoryPolicy policy_;
    struct UsedEvent {
        std::unique_ptr<Event> event;
        StreamOrder::Mark mark;
    };
    std::array<std::deque<UsedEvent>, 2> events_;  // by waiters, in the order of their records
    std::vector<Leaving> leaving_;                 // since the last settle()
    std::vector<Leaving> leaving_next_;            // since the one before
    Marks pending_{};                              // what compute waits for before its next op
    Marks users_{};                                // of the buffers that have been given back
    Marks unjoined_{};  // of those, what compute waits for before bytes are given out again
    bool used_by_compute_ = false;  // of those, some up to now
    OffloadTimers exposed_;
    HostTraffic traffic_;
    StreamTimer* current_ = &exposed_.tokens;
};

}  // namespace rm
