#pragma once

#include "kernels/ops/embedding.h"

namespace rm {

constexpr std::int32_t kIgnoreTarget = -1;

// Linear head and cross entropy in one op, so that logits for all tokens never exist at once.
// losses = logsumexp(x W^T) - logit[target], 0 without a target; loss_sum += their sum, unscaled;
// gradients are those of scale * that sum. With d_x empty only losses are computed. A target
// outside the vocabulary is an error of the stream; on a device it makes loss and gradients NaN.
struct LinearCrossEntropy {
    TensorView x;
    const PreparedWeight* head = nullptr;
    TensorView targets;   // kIgnoreTarget: no loss
    double scale = 1;     // 1 / targets counted in the whole step
    TensorView losses;    // of each token, in nats
    TensorView loss_sum;  // summed into
    TensorView d_x;       // overwritten; empty: forward only
    TensorView d_head;    // summed into

    static constexpr std::string_view kName = "linear_cross_entropy";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T C">(x, "x").weight<"V C">(head, "head");
        all.indices<"T">(targets, "targets");
        all.writes().scalars<"T">(losses, "losses").scalars<"1">(loss_sum, "loss_sum");
        if (!d_x.empty()) all.compute<"T C">(d_x, "d_x").accum<"V C">(d_head, "d_head");
    }
    double flops() const { return (d_x.empty() ? 1 : 3) * product_flops(x, head->num_rows()); }
};

// The same loss when the head is cut by rows over ranks (vocabulary-parallel, Megatron-LM), in
// three ops. First each rank's softmax statistics over its own rows, per token: the largest logit
// m, the sum of exp(logit - m), and the target's logit where its row is here, else 0. Tokens
// without a target give zeros. Logits of all tokens never exist at once.
struct HeadStatistics {
    TensorView x;
    const PreparedWeight* head = nullptr;
    TensorView targets;  // kIgnoreTarget: no loss
    RowShare rows = {};
    TensorView statistics;  // m, sum, target logit

    static constexpr std::string_view kName = "head_statistics";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T C">(x, "x").weight<"V C">(head, "head");
        all.indices<"T">(targets, "targets").writes().scalars<"T 3">(statistics, "statistics");
        rows.check(kName, all["V"]);
    }
    double flops() const { return product_flops(x, head->num_rows()); }
};

// Then those of all ranks, merged in rank order: the same bits on each of them.
struct CombineHeadStatistics {
    TensorView parts;
    TensorView targets;
    TensorView lse;       // logsumexp over the whole vocabulary; 0 without a target
    TensorView losses;    // lse - target logit; 0 without a target
    TensorView loss_sum;  // summed into

    static constexpr std::string_view kName = "combine_head_statistics";
    void operands(Operands& all) const {
        all.reads().scalars<"G T 3">(parts, "parts").indices<"T">(targets, "targets");
        all.writes().scalars<"T">(lse, "lse").scalars<"T">(losses, "losses");
        all.scalars<"1">(loss_sum, "loss_sum");
        RM_CHECK(all["G"] > 0, "combine_head_statistics: no parts");
    }
};

// Then gradients of scale * loss_sum from logits that are formed again. d_x is this rank's share.
struct HeadBwd {
    TensorView x;
    const PreparedWeight* head = nullptr;
    TensorView targets;
    RowShare rows = {};
    TensorView lse;
    double scale = 1;
    TensorView d_x;     // overwritten
    TensorView d_head;  // the rows of V that are here, summed into

    static constexpr std::string_view kName = "head_bwd";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T C">(x, "x").weight<"V C">(head, "head");
        all.indices<"T">(targets, "targets").scalars<"T">(lse, "lse");
        all.writes().compute<"T C">(d_x, "d_x").accum<"V C">(d_head, "d_head");
        rows.check(kName, all["V"]);
    }
    double flops() const { return 3 * product_flops(x, head->num_rows()); }
};

}  // namespace rm
