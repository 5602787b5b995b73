#pragma once

#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/meta/op_accesses.h"

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
};

OpWork work_of_bytes(double bytes);

// `flops` are the op's, `accesses` its tensors without its workspace.
OpWork work_of(const AttentionFwd& op, double flops, const OpAccesses& accesses);
OpWork work_of(const AttentionBwd& op, double flops, const OpAccesses& accesses);
// An op touches only its tokens' rows of the table.
OpWork work_of(const EmbeddingFwd& op, double flops, const OpAccesses& accesses);
OpWork work_of(const EmbeddingBwd& op, double flops, const OpAccesses& accesses);
OpWork work_of(const CopyHeads& op, double flops, const OpAccesses& accesses);
template <typename Op>
OpWork work_of(const Op& op, double flops, const OpAccesses& accesses) {
    if constexpr (requires { op.head; }) {
        return {.amount = flops, .size = static_cast<double>(op.x.dim(1))};
    } else {
        if (flops > 0) return {.amount = flops, .size = flops};
        return work_of_bytes(accesses.bytes());
    }
}

}  // namespace rm
