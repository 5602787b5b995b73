#pragma once

#include <array>
#include <optional>
#include <span>

#include "kernels/device.h"

namespace rm {

// Gives collectives access to the bytes of tensors. A tensor in host memory is one message, sent or
// received in place; memory that the host cannot see is copied through pinned pieces. All ranks of
// a group have the same kind of memory, so they split messages alike.
class Staging {
public:
    // Borrows the device. Allocates nothing where its memory is the host's.
    explicit Staging(Device& device);
    Staging() = default;  // all tensors are host memory

    // Elements of x that travel as one message.
    std::int64_t piece_elements(const TensorView& x) const;

    // Pieces that can travel at once in one direction.
    std::size_t num_slots() const;

    // The bytes of `part`, at most a piece, to send. The contents of other slots stay.
    std::span<const std::byte> load(const TensorView& part, int slot);
    // The buffer to receive `part` in; store() with the same slot copies it to the tensor.
    std::span<std::byte> room(const TensorView& part, int slot);
    void store(const TensorView& part, int slot);

    // Returns `part`, at most a piece, as host memory to read and change until close().
    TensorView open(const TensorView& part);
    void close(const TensorView& part);

    static constexpr Bytes kPiece{std::int64_t{4} << 20};

private:
    std::byte* memory(int index) const { return pinned_->data() + index * kPiece.value; }

    Device* device_ = nullptr;  // null: direct
    // Two pieces to send, two to receive, one to open.
    std::optional<PinnedBuffer> pinned_;
};

}  // namespace rm
