#include "kernels/cuda/device_kernels.h"

#include <optional>
#include <string>
#include <utility>

#include "kernels/checks.h"
#include "kernels/cuda/ops.h"

namespace rm {
namespace {

// An op is checked and chosen for by the caller, at once; its kernels run on the stream.
#define RM_DEVICE_OP(name, Op)                                                \
    void name(const Op& op, Stream& stream) override {                        \
        cuda::run(op, launch_of(#name, check_operands(op, types()), stream)); \
    }
#define RM_DEVICE_OP_WITH_WORKSPACE(name, Op)                                            \
    void name(const Op& op, Workspace workspace, Stream& stream) override {              \
        cuda::run(op, workspace, launch_of(#name, check_operands(op, types()), stream)); \
    }
#define RM_DEVICE_PRODUCT(name, Op)                                                 \
    Bytes workspace_bytes(const Op& op) const override {                            \
        return cuda::workspace_bytes(op, *parts_.matmul);                           \
    }                                                                               \
    void name(const Op& op, Workspace workspace, Stream& stream) override {         \
        const Launch where = launch_of(#name, check_operands(op, types()), stream); \
        cuda::run(op, *parts_.matmul, workspace, where);                            \
    }

class DeviceKernels final : public Kernels {
public:
    DeviceKernels(DeviceKernelsParts parts, const DeviceKernelsOptions& options)
        : parts_(std::move(parts)), options_(options) {
        if (options.explain != nullptr) log_.emplace(*options.explain);
    }

    std::string_view name() const override { return parts_.name; }
    NumericTypes types() const override { return {DType::bf16, DType::f32, DType::f32}; }
    Device& device() override { return *parts_.device; }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns) const override {
        return {num_rows * num_columns * size_of(DType::bf16)};
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows,
                                                  std::int64_t num_columns) override {
        return std::make_unique<cuda::DevicePreparedWeight>(device(), num_rows, num_columns);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        const Launch where = launch_of("prepare", check_prepare(weight, prepared, types()), stream);
        cuda::run(Copy{.from = weight, .to = cuda::weight_of(&prepared).view()}, where);
    }

    RM_DEVICE_PRODUCT(linear_fwd, LinearFwd)
    RM_DEVICE_PRODUCT(linear_bwd_input, LinearBwdInput)
    RM_DEVICE_PRODUCT(linear_bwd_weight, LinearBwdWeight)
    RM_DEVICE_PRODUCT(linear_cross_entropy, LinearCrossEntropy)
    RM_DEVICE_PRODUCT(head_statistics, HeadStatistics)
    RM_DEVICE_OP(combine_head_statistics, CombineHeadStatistics)
    RM_DEVICE_PRODUCT(head_bwd, HeadBwd)
    RM_DEVICE_OP(rmsnorm_fwd, RmsNormFwd)
    RM_DEVICE_OP_WITH_WORKSPACE(rmsnorm_bwd, RmsNormBwd)
    RM_DEVICE_OP(rope_table, RopeTable)
    RM_DEVICE_OP(rope_apply, RopeApply)
    RM_DEVICE_OP(swiglu_fwd, SwigluFwd)
    RM_DEVICE_OP(swiglu_bwd, SwigluBwd)
    RM_DEVICE_OP(embedding_fwd, EmbeddingFwd)
    RM_DEVICE_OP(embedding_bwd, EmbeddingBwd)
    RM_DEVICE_OP(attention_begin, AttentionBegin)
    void attention_fwd(const AttentionFwd& op, Workspace, Stream& stream) override {
        cuda::run(op, launch_of("attention_fwd", check_operands(op, types()), stream));
    }
    RM_DEVICE_OP(attention_finish, AttentionFinish)
    RM_DEVICE_OP(attention_delta, AttentionDelta)
    RM_DEVICE_OP_WITH_WORKSPACE(attention_bwd, AttentionBwd)
    RM_DEVICE_OP(fill_zero, FillZero)
    RM_DEVICE_OP(copy, Copy)
    RM_DEVICE_OP(add, Add)
    RM_DEVICE_OP(copy_heads, CopyHeads)
    RM_DEVICE_OP(sum_parts, SumParts)
    RM_DEVICE_OP_WITH_WORKSPACE(sum_squares, SumSquares)
    RM_DEVICE_OP(clip_factor, ClipFactor)
    RM_DEVICE_OP(adamw, AdamW)

    Bytes workspace_bytes(const RmsNormBwd& op) const override { return cuda::workspace_bytes(op); }
    Bytes workspace_bytes(const SumSquares& op) const override { return cuda::workspace_bytes(op); }
    Bytes workspace_bytes(const AttentionFwd&) const override { return {}; }
    Bytes workspace_bytes(const AttentionBwd& op) const override {
        return cuda::workspace_bytes(op, parts_.profile);
    }

private:
    Launch launch_of(std::string_view op, const Dims& dims, Stream& stream) {
        return {.stream = stream,
                .profile = parts_.profile,
                .emulation = options_.emulation,
                .reproducible = options_.reproducible,
                .log = log_ ? &*log_ : nullptr,
                .op = log_ ? format("{} ({})", op, dims.text()) : std::string()};
    }

    DeviceKernelsParts parts_;
    DeviceKernelsOptions options_;
    std::optional<LaunchLog> log_;
};

#undef RM_DEVICE_OP
#undef RM_DEVICE_OP_WITH_WORKSPACE
#undef RM_DEVICE_PRODUCT

}  // namespace

std::unique_ptr<Kernels> make_device_kernels(DeviceKernelsParts parts,
                                             const DeviceKernelsOptions& options) {
    RM_CHECK(parts.device != nullptr && parts.matmul != nullptr, "{}: a part is missing",
             parts.name);
    return std::make_unique<DeviceKernels>(std::move(parts), options);
}

}  // namespace rm
