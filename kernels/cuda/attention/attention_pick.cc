#include "kernels/cuda/attention/attention_pick.h"

#include "base/check.h"

namespace rm::cuda {
namespace {

template <typename Shape>
Shape check_fits(std::string_view op, Shape shape, const GpuProfile& profile) {
    const Bytes needed = shape_of(shape).shared;
    RM_CHECK(needed.value <= profile.shared_per_block.value,
             "{}: {} needs {} bytes of shared memory, the device gives {} to a block", op,
             shape_of(shape).name, needed.value, profile.shared_per_block.value);
    return shape;
}

std::string shown(const AttentionShape& shape) {
    return format("{}, D up to {}, {} threads, {} bytes shared", shape.name, shape.head,
                  shape.threads, shape.shared.value);
}

}  // namespace

std::string to_string(AttentionForwardShape shape) {
    return shown(shape_of(shape));
}
std::string to_string(AttentionForward8Shape shape) {
    return shown(shape_of(shape));
}
std::string to_string(AttentionBackwardShape shape) {
    return shown(shape_of(shape));
}

int head_columns(std::string_view op, std::int64_t D) {
    RM_CHECK(D > 0 && D <= 128 && D % 8 == 0,
             "{}: heads of D = {}; multiples of 8 up to 128 are possible", op, D);
    return D > 64 ? 128 : 64;
}

AttentionForwardShape pick_attention_fwd(const AttentionCall& call, const GpuProfile& profile) {
    using enum AttentionForwardShape;
    constexpr std::string_view kOp = "attention_fwd";
    const bool wide = call.wide_blocks >= profile.num_sms;
    if (head_columns(kOp, call.D) == 64)
        return check_fits(kOp, wide ? d64_wide : d64_narrow, profile);
    return check_fits(kOp, wide ? d128_wide : d128_narrow, profile);
}

AttentionForward8Shape pick_attention_fwd_8bit(const AttentionCall& call,
                                               const GpuProfile& profile) {
    using enum AttentionForward8Shape;
    constexpr std::string_view kOp = "attention_fwd_8bit";
    if (head_columns(kOp, call.D) == 64) return check_fits(kOp, d64, profile);
    return check_fits(kOp, call.wide_blocks >= profile.num_sms ? d128_wide : d128_narrow, profile);
}

AttentionBackwardShape pick_attention_bwd(const AttentionCall& call, bool reproducible,
                                          const GpuProfile& profile) {
    using enum AttentionBackwardShape;
    constexpr std::string_view kOp = "attention_bwd";
    if (head_columns(kOp, call.D) == 64)
        return check_fits(kOp, reproducible ? d64_ordered : d64_atomic, profile);
    return check_fits(kOp, reproducible ? d128_ordered : d128_atomic, profile);
}

}  // namespace rm::cuda
