#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernels.h"

namespace rm {

// The basis of an op's time. `amount` is what is done at the machine's speed, and the
// speed depends on `size`:
//   products            amount FLOPs, size the same
//   a head and its loss amount FLOPs, size C (exponentials weigh more, the fewer FLOPs a logit has)
//   attention           amount FLOPs, size the keys that a query sees on average, and the head dim
//   all others          amount bytes read and written, size the same
struct OpWork {
    double amount = 0;
    double size = 0;
    std::int64_t head_dim = 0;  // 0: no attention
    bool operator==(const OpWork&) const = default;
};

// The name that a profile has for an op's speed. Operands with scales of blocks are multiplied and
// rounded by kernels of their own, whose speed says nothing about the others'.
template <typename Op>
constexpr std::string_view block_name_of() {
    if constexpr (requires { Op::kBlockName; }) return Op::kBlockName;
    return {};
}
template <typename Op>
bool is_timed_in_blocks(const Op& op) {
    if constexpr (requires { Op::kBlockName; }) return op.blocks();
    return false;
}
template <typename Op>
std::string_view timed_as(const Op& op) {
    return is_timed_in_blocks(op) ? block_name_of<Op>() : Op::kName;
}

inline OpWork work_of_bytes(double bytes) {
    return {.amount = bytes, .size = bytes};
}

// `flops` are the op's, `accesses` its tensors without its workspace.
template <typename Op>
OpWork work_of(const Op& op, double flops, const OpAccesses& accesses) {
    if constexpr (requires { op.head; }) {
        return {.amount = flops, .size = static_cast<double>(op.x.dim(1))};
    } else if constexpr (requires { Op::kFlopsPerPair; }) {
        const double per_key = Op::kFlopsPerPair * static_cast<double>(op.q.num_elements());
        return {
            .amount = flops, .size = per_key > 0 ? flops / per_key : 0, .head_dim = op.q.dim(2)};
    } else {
        if (flops > 0) return {.amount = flops, .size = flops};
        if constexpr (requires { op.moved_bytes(); }) return work_of_bytes(op.moved_bytes());
        return work_of_bytes(accesses.bytes());
    }
}

}  // namespace rm
