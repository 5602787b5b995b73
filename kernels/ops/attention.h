#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// The running state of attention: unnormalised output, row maximum and row sum, exactly what the
// kernel holds in registers, so that cutting one call into several at tile boundaries changes no
// bit. m and l are the backend's own (only AttentionMerge and AttentionFinish interpret them).
struct AttentionState {
    TensorView acc;
    TensorView m;
    TensorView l;

    void operands(Operands& all) const {
        all.accum<"T Hq D">(acc, "acc").accum<"T Hq">(m, "m").accum<"T Hq">(l, "l");
    }
};

struct AttentionBegin {
    AttentionState state;  // becomes the state that has seen no key

    static constexpr std::string_view kName = "attention_begin";
    static constexpr OpClass kClass = OpClass::attention;
    void operands(Operands& all) const { state.operands(all.writes()); }
};

// The query-key pairs that see each other: what attention's FLOPs are counted by, since kernels
// skip the others.
template <typename Op>
double pairs_of(const Op& op) {
    return static_cast<double>(attended_pairs(op.q_runs, op.kv_runs));
}
// `flops_per_element`: for each pair and each element of a query's heads; q (T, Hq, D).
inline double attention_flops(const TensorView& q, double flops_per_element, double pairs) {
    return flops_per_element * static_cast<double>(q.dim(1) * q.dim(2)) * pairs;
}

template <typename Op>
void check_heads_and_runs(const Op& op, const Operands& all) {
    const auto Hq = all["Hq"], Hk = all["Hk"];
    RM_CHECK(Hk > 0 && Hq % Hk == 0, "{}: {} query heads over {} key-value heads", Op::kName, Hq,
             Hk);
    all.tokens(op.q_runs, "T", "q_runs");
    all.tokens(op.kv_runs, "S", "kv_runs");
    RM_CHECK(op.scale > 0, "{}: scale {}; it must be positive", Op::kName, op.scale);
}

enum class AttentionProducts { compute, eight_bit };

// Merges the keys and values of one block into the state. A query of `q_runs` sees a key of
// `kv_runs` when both have the same document and the key's position is not later; tiles that see
// nothing are skipped. Online softmax: Milakov and Gimelshein 2018; tiling: FlashAttention-2.
//
// In 8 bits scores are products of int8, and probabilities and values are e4m3 (SageAttention,
// Zhang et al. 2024; SageAttention2, Zhang et al. 2024). kernels/attention_8bit.h says what is
// rounded, and relative to what. A query has one scale, a block of 64 keys of one head another,
// counted from the start of their run: cutting a call at such blocks changes no bit. Device kernels
// have it where Kernels::computes_fp8().
template <AttentionProducts kProducts>
struct AttentionForwardOp {
    AttentionState state;
    TensorView q;
    TensorView k;
    TensorView v;
    std::span<const Run> q_runs;   // T tokens
    std::span<const Run> kv_runs;  // S tokens
    double scale = 1;              // 1 / sqrt(D)

    static constexpr std::string_view kName =
        kProducts == AttentionProducts::compute ? "attention_fwd" : "attention_fwd_8bit";
    static constexpr OpClass kClass = OpClass::attention;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        state.operands(all.writes());
        all.reads().compute<"T Hq D">(q, "q");
        all.compute<"S Hk D">(k, "k").compute<"S Hk D">(v, "v");
        check_heads_and_runs(*this, all);
    }
    static constexpr double kFlopsPerPair = 4;  // of each element: two products
    double flops(double pairs) const { return attention_flops(q, kFlopsPerPair, pairs); }
    double flops() const { return flops(pairs_of(*this)); }
};
using AttentionFwd = AttentionForwardOp<AttentionProducts::compute>;
using AttentionFwd8 = AttentionForwardOp<AttentionProducts::eight_bit>;

// Merges what other keys have made of the same queries: decoding with keys on several ranks
// (Flash-Decoding, Dao et al. 2023).
struct AttentionMerge {
    AttentionState other;
    AttentionState state;  // updated

    static constexpr std::string_view kName = "attention_merge";
    static constexpr OpClass kClass = OpClass::attention;
    void operands(Operands& all) const {
        other.operands(all.reads());
        state.operands(all.writes());
    }
};

// out = acc / l; lse = m + log(l). A row that saw no key gives out = 0 and lse = -inf.
struct AttentionFinish {
    AttentionState state;
    TensorView out;
    TensorView lse;  // natural log

    static constexpr std::string_view kName = "attention_finish";
    static constexpr OpClass kClass = OpClass::attention;
    void operands(Operands& all) const {
        state.operands(all.reads());
        all.writes().compute<"T Hq D">(out, "out").accum<"T Hq">(lse, "lse");
    }
};

// delta = rowsum(d_out * out)
struct AttentionDelta {
    TensorView d_out;
    TensorView out;
    TensorView delta;

    static constexpr std::string_view kName = "attention_delta";
    static constexpr OpClass kClass = OpClass::attention;
    void operands(Operands& all) const {
        all.reads().compute<"T Hq D">(d_out, "d_out").compute<"T Hq D">(out, "out");
        all.writes().accum<"T Hq">(delta, "delta");
    }
};

// Probabilities are made again from q, k and lse. In 8 bits q, k and v count as the numbers that
// the codes of AttentionFwd8 stand for, in bf16, so that the probabilities of a row add up to 1 and
// delta fits them; products are those of the compute type. Cutting a call at multiples of 64 keys
// from the start of their runs changes no bit.
template <AttentionProducts kProducts>
struct AttentionBackwardOp {
    TensorView q;
    TensorView k;
    TensorView v;
    TensorView d_out;
    TensorView lse;
    TensorView delta;
    std::span<const Run> q_runs;   // T tokens
    std::span<const Run> kv_runs;  // S tokens
    double scale = 1;
    TensorView d_q;  // summed into
    TensorView d_k;  // summed into
    TensorView d_v;  // summed into

    static constexpr std::string_view kName =
        kProducts == AttentionProducts::compute ? "attention_bwd" : "attention_bwd_8bit";
    static constexpr OpClass kClass = OpClass::attention;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T Hq D">(q, "q");
        all.compute<"S Hk D">(k, "k").compute<"S Hk D">(v, "v");
        all.compute<"T Hq D">(d_out, "d_out");
        all.accum<"T Hq">(lse, "lse").accum<"T Hq">(delta, "delta");
        all.writes().accum<"T Hq D">(d_q, "d_q");
        all.accum<"S Hk D">(d_k, "d_k").accum<"S Hk D">(d_v, "d_v");
        check_heads_and_runs(*this, all);
    }
    static constexpr double kFlopsPerPair = 10;  // of each element: five products
    double flops(double pairs) const { return attention_flops(q, kFlopsPerPair, pairs); }
    double flops() const { return flops(pairs_of(*this)); }
};
using AttentionBwd = AttentionBackwardOp<AttentionProducts::compute>;
using AttentionBwd8 = AttentionBackwardOp<AttentionProducts::eight_bit>;

// The same call on other queries, keys and values: those that are rounded already.
inline AttentionBwd on_rounded(const AttentionBwd8& op, const TensorView& q, const TensorView& k,
                               const TensorView& v) {
    return {q,         k,          v,        op.d_out, op.lse, op.delta,
            op.q_runs, op.kv_runs, op.scale, op.d_q,   op.d_k, op.d_v};
}

}  // namespace rm
