#include "kernels/ref/ref_kernels.h"

#include "kernels/ref/ref_ops.h"

namespace rm {
namespace {

// Queues `run(op)`; shapes are checked when it runs, so a wrong one is the stream's error.
#define RM_REF_OP(name, Op)                             \
    void name(const Op& op, Stream& stream) override {  \
        stream.enqueue(#name, [op] { ref::name(op); }); \
    }
#define RM_REF_OP_WITH_WORKSPACE(name, Op)                        \
    Bytes workspace_bytes(const Op&) const override {             \
        return {};                                                \
    }                                                             \
    void name(const Op& op, Workspace, Stream& stream) override { \
        stream.enqueue(#name, [op] { ref::name(op); });           \
    }

class RefKernels final : public Kernels {
public:
    std::string_view name() const override { return "ref"; }
    NumericTypes types() const override { return {DType::f64, DType::f64, DType::f64}; }
    Device& device() override { return *device_; }

    Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns) const override {
        return {num_rows * num_columns * size_of(DType::f64)};
    }
    std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows,
                                                  std::int64_t num_columns) override {
        return std::make_unique<ref::RefPreparedWeight>(*device_, num_rows, num_columns);
    }
    void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) override {
        const TensorView to = ref::weight_of(&prepared);
        stream.enqueue("prepare", [from = weight, to] {
            Dims("prepare").bind<"N K">(to, "prepared").bind<"N K">(from, "weight");
            ref::copy({.from = from, .to = to});
        });
    }

    RM_REF_OP_WITH_WORKSPACE(linear_fwd, LinearFwd)
    RM_REF_OP_WITH_WORKSPACE(linear_bwd_input, LinearBwdInput)
    RM_REF_OP_WITH_WORKSPACE(linear_bwd_weight, LinearBwdWeight)
    RM_REF_OP(rmsnorm_fwd, RmsNormFwd)
    RM_REF_OP_WITH_WORKSPACE(rmsnorm_bwd, RmsNormBwd)
    RM_REF_OP(rope_table, RopeTable)
    RM_REF_OP(rope_apply, RopeApply)
    RM_REF_OP(swiglu_fwd, SwigluFwd)
    RM_REF_OP(swiglu_bwd, SwigluBwd)
    RM_REF_OP(embedding_fwd, EmbeddingFwd)
    RM_REF_OP(embedding_bwd, EmbeddingBwd)
    RM_REF_OP_WITH_WORKSPACE(linear_cross_entropy, LinearCrossEntropy)
    RM_REF_OP_WITH_WORKSPACE(head_statistics, HeadStatistics)
    RM_REF_OP(combine_head_statistics, CombineHeadStatistics)
    RM_REF_OP_WITH_WORKSPACE(head_bwd, HeadBwd)
    RM_REF_OP(attention_begin, AttentionBegin)
    RM_REF_OP_WITH_WORKSPACE(attention_fwd, AttentionFwd)
    RM_REF_OP(attention_finish, AttentionFinish)
    RM_REF_OP(attention_delta, AttentionDelta)
    RM_REF_OP_WITH_WORKSPACE(attention_bwd, AttentionBwd)
    RM_REF_OP(fill_zero, FillZero)
    RM_REF_OP(copy, Copy)
    RM_REF_OP(add, Add)
    RM_REF_OP(copy_heads, CopyHeads)
    RM_REF_OP(sum_parts, SumParts)
    RM_REF_OP_WITH_WORKSPACE(sum_squares, SumSquares)
    RM_REF_OP(clip_factor, ClipFactor)
    RM_REF_OP(adamw, AdamW)

private:
    std::unique_ptr<Device> device_ = make_host_device();
};

#undef RM_REF_OP
#undef RM_REF_OP_WITH_WORKSPACE

}  // namespace

std::unique_ptr<Kernels> make_ref_kernels() {
    return std::make_unique<RefKernels>();
}

}  // namespace rm
