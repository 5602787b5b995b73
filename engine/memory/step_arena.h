#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/memory/arena_trace.h"
#include "kernels/tensor.h"

// A step's memory by name. The host's calls request and release it in their order, which is also
// the order of the compute stream. A pass (one micro-batch) leaves its arena empty and makes the
// same requests every time, so its offsets are planned once.
namespace rm {

struct BufferName {
    std::string_view what;
    int layer = -1;  // none
};
std::string to_string(const BufferName& name);  // "gate of layer 3"

class StepArena {
public:
    virtual ~StepArena() = default;
    // Work queued earlier on the compute stream may still use the buffer's bytes: other streams may
    // touch it only after an event that the compute stream records later.
    virtual TensorView request(BufferName name, DType dtype,
                               std::initializer_list<std::int64_t> shape) = 0;
    // The compute stream must have joined all streams that touched the buffer.
    virtual void release(const TensorView& buffer) = 0;
};

// Holds a buffer for its own lifetime.
class ArenaTensor {
public:
    ArenaTensor() = default;
    ArenaTensor(StepArena& arena, BufferName name, DType dtype,
                std::initializer_list<std::int64_t> shape)
        : arena_(&arena), view_(arena.request(name, dtype, shape)) {}
    ArenaTensor(ArenaTensor&& other) noexcept { swap(other); }
    ArenaTensor& operator=(ArenaTensor&& other) noexcept {
        ArenaTensor moved(std::move(other));
        swap(moved);
        return *this;
    }
    ArenaTensor(const ArenaTensor&) = delete;
    ArenaTensor& operator=(const ArenaTensor&) = delete;
    ~ArenaTensor() {
        if (arena_ != nullptr) arena_->release(view_);
    }

    const TensorView& view() const { return view_; }
    operator const TensorView&() const { return view_; }  // NOLINT(google-explicit-constructor)
    const TensorView* operator->() const { return &view_; }
    bool empty() const { return arena_ == nullptr; }

private:
    void swap(ArenaTensor& other) noexcept {
        std::swap(arena_, other.arena_);
        std::swap(view_, other.view_);
    }
    StepArena* arena_ = nullptr;
    TensorView view_;
};

struct ArenaRequest {
    std::string what;
    int layer = -1;
    Bytes size;    // as asked for
    Bytes offset;  // planned
};
// The requests of a pass, in their order. `trace` has a block for each, its size rounded up to
// kArenaAlignment.
struct PassRequests {
    std::vector<ArenaRequest> requests;
    ArenaTrace trace;
};
inline constexpr Bytes kArenaAlignment{512};

// Records requests; a listener provides their addresses and never gives one twice.
class RequestRecorder final : public StepArena {
public:
    // Called for each request, which it gives an address, and for each release.
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void* requested(const BufferName& name, Bytes size) = 0;
        virtual void released(void* address) = 0;
    };
    explicit RequestRecorder(Listener& listener) : listener_(listener) {}

    TensorView request(BufferName name, DType dtype,
                       std::initializer_list<std::int64_t> shape) override;
    void release(const TensorView& buffer) override;
    // The requests since the last take(); all must have been released.
    PassRequests take();

private:
    Listener& listener_;
    PassRequests pass_;
    std::vector<void*> addresses_;
    std::int64_t time_ = 0;
};

// Serves a pass's requests at their planned places in one buffer. A request that is not the planned
// one ends the job with a CheckError that names both.
class PlannedArena final : public StepArena {
public:
    PlannedArena(std::string_view name, void* memory, Bytes size)
        : name_(name), memory_(memory), size_(size) {}

    // `pass` outlives the pass. The arena is empty at begin and end.
    void begin(const PassRequests& pass);
    void end();
    TensorView request(BufferName name, DType dtype,
                       std::initializer_list<std::int64_t> shape) override;
    void release(const TensorView& buffer) override;

private:
    std::string name_;
    void* memory_;
    Bytes size_;
    const PassRequests* pass_ = nullptr;
    std::size_t next_ = 0;
    std::int64_t num_live_ = 0;
};

}  // namespace rm
