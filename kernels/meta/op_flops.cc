#include "kernels/meta/op_flops.h"

namespace rm {
namespace {

// 2 a b c, which may be more than 64 bits hold.
double product(const TensorView& rows, std::int64_t columns) {
    return 2.0 * static_cast<double>(rows.dim(0)) * static_cast<double>(rows.dim(1)) *
           static_cast<double>(columns);
}

template <typename Op>
double pairs_of(const Op& op) {
    return static_cast<double>(attended_pairs(op.q_runs, op.kv_runs));
}

double attention(const TensorView& q, double flops_per_pair, double pairs) {
    return flops_per_pair * static_cast<double>(q.dim(1) * q.dim(2)) * pairs;
}

}  // namespace

double attention_fwd_flops(const TensorView& q, double pairs) {
    return attention(q, 4, pairs);
}
double attention_bwd_flops(const TensorView& q, double pairs) {
    return attention(q, 10, pairs);
}

double flops_of(const LinearFwd& op) {
    return product(op.x, op.y.dim(1));
}
double flops_of(const LinearBwdInput& op) {
    return product(op.d_y, op.d_x.dim(1));
}
double flops_of(const LinearBwdWeight& op) {
    return product(op.d_y, op.x.dim(1));
}
double flops_of(const LinearCrossEntropy& op) {
    return (op.d_x.empty() ? 1 : 3) * product(op.x, op.head->num_rows());
}
double flops_of(const HeadStatistics& op) {
    return product(op.x, op.head->num_rows());
}
double flops_of(const HeadBwd& op) {
    return 3 * product(op.x, op.head->num_rows());
}
double flops_of(const AttentionFwd& op) {
    return attention_fwd_flops(op.q, pairs_of(op));
}
double flops_of(const AttentionBwd& op) {
    return attention_bwd_flops(op.q, pairs_of(op));
}

}  // namespace rm
