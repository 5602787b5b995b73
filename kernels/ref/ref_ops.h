#pragma once

#include "kernels/kernels.h"

// The oracle's mathematics, one function per op with its checked dims, run at once on the calling
// thread. Every floating tensor is f64. Sums run in ascending token order, straight into their
// target, so that cutting an op along its tokens changes no bit.
namespace rm::ref {

class RefPreparedWeight final : public PreparedWeight {
public:
    RefPreparedWeight(Device& device, std::int64_t num_rows, std::int64_t num_columns)
        : weight_(device, MemoryKind::weights, DType::f64, {num_rows, num_columns}) {}
    std::int64_t num_rows() const override { return weight_->dim(0); }
    std::int64_t num_columns() const override { return weight_->dim(1); }
    const TensorView& view() const { return weight_; }  // (N, K)

private:
    Tensor weight_;
};

const TensorView& weight_of(const PreparedWeight* prepared);

#define RM_OP(Op) void run(const Op& op, const Dims& dims);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::ref
