#include "kernels/meta/op_work.h"

namespace rm {
namespace {

// Rows of tokens, moved once each way.
OpWork work_of_rows(const TensorView& x) {
    return work_of_bytes(2 * static_cast<double>(x.num_bytes().value));
}

OpWork work_of_attention(const TensorView& q, double flops, double flops_per_pair) {
    const double per_key = flops_per_pair * static_cast<double>(q.num_elements());
    return {.amount = flops, .size = per_key > 0 ? flops / per_key : 0, .head_dim = q.dim(2)};
}

}  // namespace

OpWork work_of_bytes(double bytes) {
    return {.amount = bytes, .size = bytes};
}

OpWork work_of(const AttentionFwd& op, double flops, const OpAccesses& /*accesses*/) {
    return work_of_attention(op.q, flops, 4);
}
OpWork work_of(const AttentionBwd& op, double flops, const OpAccesses& /*accesses*/) {
    return work_of_attention(op.q, flops, 10);
}
OpWork work_of(const EmbeddingFwd& op, double /*flops*/, const OpAccesses& /*accesses*/) {
    return work_of_rows(op.x);
}
OpWork work_of(const EmbeddingBwd& op, double /*flops*/, const OpAccesses& /*accesses*/) {
    return work_of_rows(op.d_x);
}
OpWork work_of(const CopyHeads& op, double /*flops*/, const OpAccesses& /*accesses*/) {
    const double elements =
        static_cast<double>(op.from.dim(0) * op.from.dim(2)) * static_cast<double>(op.count);
    return work_of_bytes(elements *
                         static_cast<double>(size_of(op.from.dtype()) + size_of(op.to.dtype())));
}

}  // namespace rm
