#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/ops/all.h"

// The contract between the engine and a machine: each op of kernels/ops, asynchronous on a Stream.
// Implementations: ref (fp64 oracle), cpu, cuda, emu (cuda's kernels on an emulator), meta (which
// only records).
//
// Dims: T query tokens here, S key tokens here, C hidden, Hq/Hk query and key-value heads, D head
// dim, F feed-forward, V vocabulary, N/K rows and columns of a weight as Hugging Face stores it.
// dtypes: `compute` (activations), `accum` (sums, gradients of weights, states), `master`
// (weights); see Kernels::types(). Scalars that live on the device are f64. Arguments are views and
// spans: what they point to must live until the stream has passed the op.
namespace rm {

// bytes of scratch an op may use while it runs; asked for with Kernels::workspace_bytes.
struct Workspace {
    void* data = nullptr;
    Bytes size;
};

class Kernels {
public:
    virtual ~Kernels() = default;
    virtual std::string_view name() const = 0;
    virtual NumericTypes types() const = 0;
    virtual Device& device() = 0;
    // Whether it has the ops of kernels/ops/fp8_linear.h, and AttentionFwd8.
    virtual bool computes_fp8() const { return true; }

    virtual Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns,
                                 WeightForm form) const = 0;
    virtual std::unique_ptr<PreparedWeight> make_prepared(std::int64_t num_rows,
                                                          std::int64_t num_columns,
                                                          WeightForm form) = 0;
    // `weight` is master or compute; the same bits from either.
    virtual void prepare(const TensorView& weight, PreparedWeight& prepared, Stream& stream) = 0;
    // A weight of form fp8 from its own codes, (N, K) with one scale: the bits that its numbers
    // give.
    virtual void prepare(const Fp8Matrix& weight, PreparedWeight& prepared, Stream& stream) = 0;

// The scratch that an op needs: pure, reads shapes only (views may have no memory). And the op.
#define RM_OP(Op)                                          \
    virtual Bytes workspace_bytes(const Op& op) const = 0; \
    virtual void run(const Op& op, Workspace workspace, Stream& stream) = 0;
    RM_EACH_OP(RM_OP)
#undef RM_OP
    // For an op that takes no workspace.
    template <typename Op>
    requires(!takes_workspace<Op>) void run(const Op& op, Stream& stream) {
        run(op, Workspace{}, stream);
    }
};

// Kernels whose ops all go through two templates of Machine: queue(op, workspace, stream), and
// scratch_of(op) for those that take a workspace.
template <typename Machine>
class AllKernels : public Kernels {
public:
    using Kernels::run;
#define RM_OP(Op)                                                       \
    Bytes workspace_bytes(const Op& op) const final {                   \
        if constexpr (takes_workspace<Op>)                              \
            return static_cast<const Machine&>(*this).scratch_of(op);   \
        return {};                                                      \
    }                                                                   \
    void run(const Op& op, Workspace workspace, Stream& stream) final { \
        static_cast<Machine&>(*this).queue(op, workspace, stream);      \
    }
    RM_EACH_OP(RM_OP)
#undef RM_OP
};

}  // namespace rm
