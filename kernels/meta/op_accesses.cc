#include "kernels/meta/op_accesses.h"

#include "base/check.h"

namespace rm {
namespace {

// From the first to the last element that is touched of heads [first, first + count): what lies
// between are other heads of the same rows.
MemoryRange heads_of(const TensorView& x, std::int64_t first, std::int64_t count) {
    const std::int64_t T = x.dim(0), heads = x.dim(1), D = x.dim(2);
    if (T == 0 || count == 0) return {x.data(), {}};
    const std::int64_t size = size_of(x.dtype());
    return {static_cast<const std::byte*>(x.data()) + first * D * size,
            {((T - 1) * heads + count) * D * size}};
}

}  // namespace

OpAccesses& OpAccesses::add(MemoryRange range, Ranges& ranges, std::size_t& count) {
    if (range.size.value == 0) return *this;
    RM_CHECK(count < kMost, "an op of more than {} ranges", kMost);
    ranges[count++] = range;
    return *this;
}

double OpAccesses::bytes() const {
    Bytes sum;
    for (const MemoryRange& range : reads())
        sum += range.size;
    for (const MemoryRange& range : writes())
        sum += range.size;
    return static_cast<double>(sum.value);
}

OpAccesses accesses_of(const LinearFwd& op) {
    return OpAccesses().read(op.x).write(op.y);
}
OpAccesses accesses_of(const LinearBwdInput& op) {
    return OpAccesses().read(op.d_y).write(op.d_x);
}
OpAccesses accesses_of(const LinearBwdWeight& op) {
    return OpAccesses().read(op.d_y, op.x).write(op.d_weight);
}
OpAccesses accesses_of(const RmsNormFwd& op) {
    return OpAccesses().read(op.x, op.weight).write(op.y, op.rstd);
}
OpAccesses accesses_of(const RmsNormBwd& op) {
    return OpAccesses().read(op.d_y, op.x, op.weight, op.rstd).write(op.d_x, op.d_weight);
}
OpAccesses accesses_of(const RopeTable& op) {
    return OpAccesses().write(op.cos, op.sin);
}
OpAccesses accesses_of(const RopeApply& op) {
    return OpAccesses().read(op.cos, op.sin).write(op.x);
}
OpAccesses accesses_of(const SwigluFwd& op) {
    return OpAccesses().read(op.gate, op.up).write(op.h);
}
OpAccesses accesses_of(const SwigluBwd& op) {
    return OpAccesses().read(op.d_h, op.gate, op.up).write(op.d_gate, op.d_up);
}
OpAccesses accesses_of(const EmbeddingFwd& op) {
    return OpAccesses().read(op.tokens, op.table).write(op.x);
}
OpAccesses accesses_of(const EmbeddingBwd& op) {
    return OpAccesses().read(op.tokens, op.d_x).write(op.d_table);
}
OpAccesses accesses_of(const LinearCrossEntropy& op) {
    OpAccesses accesses;
    accesses.read(op.x, op.targets).write(op.loss_sum);
    if (!op.d_x.empty()) accesses.write(op.d_x, op.d_head);
    return accesses;
}
OpAccesses accesses_of(const HeadStatistics& op) {
    return OpAccesses().read(op.x, op.targets).write(op.statistics);
}
OpAccesses accesses_of(const CombineHeadStatistics& op) {
    return OpAccesses().read(op.parts, op.targets).write(op.lse, op.loss_sum);
}
OpAccesses accesses_of(const HeadBwd& op) {
    return OpAccesses().read(op.x, op.targets, op.lse).write(op.d_x, op.d_head);
}
OpAccesses accesses_of(const AttentionBegin& op) {
    return OpAccesses().write(op.state.acc, op.state.m, op.state.l);
}
OpAccesses accesses_of(const AttentionFwd& op) {
    return OpAccesses().read(op.q, op.k, op.v).write(op.state.acc, op.state.m, op.state.l);
}
OpAccesses accesses_of(const AttentionFinish& op) {
    return OpAccesses().read(op.state.acc, op.state.m, op.state.l).write(op.out, op.lse);
}
OpAccesses accesses_of(const AttentionDelta& op) {
    return OpAccesses().read(op.d_out, op.out).write(op.delta);
}
OpAccesses accesses_of(const AttentionBwd& op) {
    return OpAccesses()
        .read(op.q, op.k, op.v, op.d_out, op.lse, op.delta)
        .write(op.d_q, op.d_k, op.d_v);
}
OpAccesses accesses_of(const FillZero& op) {
    return OpAccesses().write(op.x);
}
OpAccesses accesses_of(const Copy& op) {
    return OpAccesses().read(op.from).write(op.to);
}
OpAccesses accesses_of(const Add& op) {
    return OpAccesses().read(op.x).write(op.y);
}
OpAccesses accesses_of(const CopyHeads& op) {
    return OpAccesses()
        .read(heads_of(op.from, op.from_first, op.count))
        .write(heads_of(op.to, op.to_first, op.count));
}
OpAccesses accesses_of(const SumParts& op) {
    return OpAccesses().read(op.parts).write(op.y);
}
OpAccesses accesses_of(const SumSquares& op) {
    return OpAccesses().read(op.x).write(op.sum);
}
OpAccesses accesses_of(const ClipFactor& op) {
    return OpAccesses().read(op.sum).write(op.out);
}
OpAccesses accesses_of(const AdamW& op) {
    return OpAccesses().read(op.grad, op.clip).write(op.weight, op.m, op.v);
}

}  // namespace rm
