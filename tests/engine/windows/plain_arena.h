#pragma once

#include <initializer_list>
#include <list>

#include "engine/memory/step_arena.h"
#include "kernels/device.h"

namespace rm::test {

// Gives every request memory of its own and frees all of it at the end.
class PlainArena final : public StepArena {
public:
    explicit PlainArena(Device& device) : device_(device) {}
    TensorView request(BufferName /*name*/, DType dtype,
                       std::initializer_list<std::int64_t> shape) override {
        ++num_requests;
        return tensors_.emplace_back(device_, MemoryKind::activations, dtype, shape);
    }
    void release(const TensorView& /*buffer*/) override { ++num_releases; }

    int num_requests = 0;
    int num_releases = 0;

private:
    Device& device_;
    std::list<Tensor> tensors_;
};

}  // namespace rm::test
