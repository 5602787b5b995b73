#pragma once

#include <cstdint>

#include "kernels/bf16.h"
#include "kernels/kernels.h"

namespace rm {

// Cuts an op's workspace into aligned arrays. Made without memory it only counts, so that one
// function lays a workspace out and says how large it must be.
class Scratch {
public:
    Scratch() = default;
    explicit Scratch(Workspace workspace) : workspace_(workspace) {}

    float* floats(std::int64_t count) { return static_cast<float*>(take(count * 4)); }
    Bf16* bf16s(std::int64_t count) { return static_cast<Bf16*>(take(count * 2)); }
    double* doubles(std::int64_t count) { return static_cast<double*>(take(count * 8)); }
    Workspace workspace(Bytes size) { return {take(size.value), size}; }
    Bytes used() const { return {used_}; }

private:
    static constexpr std::int64_t kAlignment = 64;

    void* take(std::int64_t size) {
        // The first array may have to skip to an aligned address.
        if (used_ == 0) used_ = kAlignment;
        const std::int64_t at = used_ - skip();
        used_ += (size + kAlignment - 1) / kAlignment * kAlignment;
        if (workspace_.data == nullptr) return nullptr;
        RM_CHECK(used_ <= workspace_.size.value, "a workspace of {}, the op needs {} or more",
                 workspace_.size, Bytes{used_});
        return static_cast<char*>(workspace_.data) + at;
    }
    std::int64_t skip() const {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(workspace_.data) %
                                         kAlignment);
    }

    Workspace workspace_;
    std::int64_t used_ = 0;
};

}  // namespace rm
