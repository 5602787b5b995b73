#pragma once

#include "kernels/kernels.h"

// Floating-point operations of each op's matrix products; what is not listed has none worth
// counting. A head's logits are formed again for its gradients. Attention counts the query-key
// pairs that see each other, as its kernels do the work: forward two products, backward five.
namespace rm {

double flops_of(const LinearFwd& op);           // 2 T N K
double flops_of(const LinearBwdInput& op);      // 2 T N K
double flops_of(const LinearBwdWeight& op);     // 2 T N K
double flops_of(const LinearCrossEntropy& op);  // 2 T V C, with gradients 6 T V C
double flops_of(const HeadStatistics& op);      // 2 T V C
double flops_of(const HeadBwd& op);             // 6 T V C
double flops_of(const AttentionFwd& op);        // 4 D Hq a pair
double flops_of(const AttentionBwd& op);        // 10 D Hq a pair
// For `pairs` query-key pairs; q (T, Hq, D).
double attention_fwd_flops(const TensorView& q, double pairs);
double attention_bwd_flops(const TensorView& q, double pairs);
template <typename Op>
double flops_of(const Op& /*op*/) {
    return 0;
}

}  // namespace rm
