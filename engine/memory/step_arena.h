#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/memory/arena_trace.h"
#include "kernels/tensor.h"

// Memory of a step by name: requested and released in the order of the host's calls, which for the
// compute stream is its own. A pass (one micro-batch) leaves its arena empty and makes the same
// requests every time, so its offsets are planned once.
namespace rm {

struct BufferName {
    std::string_view what;
    int layer = -1;  // none
};
std::string to_string(const BufferName& name);  // "gate of layer 3"

class StepArena {
public:
    virtual ~StepArena() = default;
    // The buffer's bytes may be in use by what the compute stream has been given before: other
    // streams touch it after an event that the compute stream records later.
    virtual TensorView request(BufferName name, DType dtype,
                               std::initializer_list<std::int64_t> shape) = 0;
    // All that touched it has been joined to the compute stream.
    virtual void release(const TensorView& buffer) = 0;
};

// A buffer for as long as this lives.
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

// Writes requests down; their memory is somebody else's addresses, which are never given twice.
class RequestRecorder final : public StepArena {
public:
    // Called for each request and release: gives the request an address.
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
    // The requests since the last take; all of them have been released.
    PassRequests take();

private:
    Listener& listener_;
    PassRequests pass_;
    std::vector<void*> addresses_;
    std::int64_t time_ = 0;
};

// Serves a pass's requests at their planned places in one memory. A request that is not the planned
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
