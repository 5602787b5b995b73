#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "kernels/cuda/launch.h"

// Which compiled attention kernel does a call. No choice changes a bit of a result: all shapes of
// attention forward share one arithmetic, and backward chooses by D and by what the caller asks
// for.
namespace rm::cuda {

// The facts that decide. Tiles are cut from the start of each run, so their number is not T / rows.
struct AttentionCall {
    std::int64_t D = 0;
    std::int64_t wide_blocks = 0;  // tiles of 128 queries, times Hq
};

// A compiled shape: heads of up to `head` columns, `rows` of its outer side to a block, which are
// queries in forward and keys in backward (the ordered ones have a pass over queries besides).
struct AttentionShape {
    std::string_view name;
    int head = 0;
    int rows = 0;
    int threads = 0;
    Bytes shared;
};

enum class AttentionForwardShape { d64_narrow, d64_wide, d128_narrow, d128_wide };
enum class AttentionForward8Shape { d64, d128_narrow, d128_wide };
enum class AttentionBackwardShape { d64_ordered, d64_atomic, d128_ordered, d128_atomic };
constexpr int kWideRows = 128;

// The launchers assert that the kernels are as written here.
constexpr AttentionShape shape_of(AttentionForwardShape shape) {
    constexpr AttentionShape kShapes[] = {
        {"attention_fwd 64x64, 4 warps, 1 stage", 64, 64, 128, {25 * 1024}},
        {"attention_fwd 128x64, 8 warps, 1 stage", 64, 128, 256, {33 * 1024}},
        {"attention_fwd 64x64, 4 warps, 1 stage", 128, 64, 128, {33 * 1024}},
        {"attention_fwd 128x64, 8 warps, 2 stages", 128, 128, 256, {65 * 1024}},
    };
    return kShapes[static_cast<int>(shape)];
}
constexpr AttentionShape shape_of(AttentionForward8Shape shape) {
    constexpr AttentionShape kShapes[] = {
        {"attention_fwd_8bit 64x64, 4 warps, 2 stages", 64, 64, 128, {25 * 1024}},
        {"attention_fwd_8bit 64x64, 4 warps, 2 stages", 128, 64, 128, {49 * 1024}},
        {"attention_fwd_8bit 128x64, 8 warps, 2 stages", 128, 128, 256, {66 * 1024}},
    };
    return kShapes[static_cast<int>(shape)];
}
constexpr AttentionShape shape_of(AttentionBackwardShape shape) {
    constexpr AttentionShape kShapes[] = {
        {"attention_bwd 64x32, 4 warps, ordered", 64, 64, 128, {25 * 1024}},
        {"attention_bwd 128x32, 8 warps, atomics", 64, 128, 256, {41 * 1024}},
        {"attention_bwd 128x32, 8 warps, ordered", 128, 128, 256, {65 * 1024}},
        {"attention_bwd 128x32, 8 warps, atomics", 128, 128, 256, {73 * 1024}},
    };
    return kShapes[static_cast<int>(shape)];
}
std::string to_string(AttentionForwardShape shape);
std::string to_string(AttentionForward8Shape shape);
std::string to_string(AttentionBackwardShape shape);

// 128 where D > 64. Any multiple of 8 up to 128 works; everything else is a CheckError that names
// the op and D.
int head_columns(std::string_view op, std::int64_t D);

// Wide blocks read every key-value tile half as often; narrow ones, when wide ones are too few to
// give every multiprocessor one.
AttentionForwardShape pick_attention_fwd(const AttentionCall& call, const GpuProfile& profile);
AttentionForward8Shape pick_attention_fwd_8bit(const AttentionCall& call,
                                               const GpuProfile& profile);
AttentionBackwardShape pick_attention_bwd(const AttentionCall& call, bool reproducible,
                                          const GpuProfile& profile);

}  // namespace rm::cuda
