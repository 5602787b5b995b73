#include "kernels/checks.h"

namespace rm {
namespace {

// Binds the operands of one op: their dims and what they store.
class Operands {
public:
    Operands(std::string_view op, const NumericTypes& types) : op_(op), types_(types), dims_(op) {}

    template <DimNames names>
    Operands& compute(const TensorView& tensor, std::string_view name) {
        return bind<names>(tensor, name, types_.compute);
    }
    template <DimNames names>
    Operands& accum(const TensorView& tensor, std::string_view name) {
        return bind<names>(tensor, name, types_.accum);
    }
    template <DimNames names>
    Operands& master(const TensorView& tensor, std::string_view name) {
        return bind<names>(tensor, name, types_.master);
    }
    template <DimNames names>
    Operands& compute_or_accum(const TensorView& tensor, std::string_view name) {
        return bind_either<names>(tensor, name, types_.accum);
    }
    template <DimNames names>
    Operands& compute_or_master(const TensorView& tensor, std::string_view name) {
        return bind_either<names>(tensor, name, types_.master);
    }
    template <DimNames names>
    Operands& scalars(const TensorView& tensor, std::string_view name) {
        return bind<names>(tensor, name, DType::f64);
    }
    template <DimNames names>
    Operands& indices(const TensorView& tensor, std::string_view name) {
        return bind<names>(tensor, name, DType::i32);
    }
    template <DimNames names>
    Operands& weight(const PreparedWeight* prepared, std::string_view name) {
        RM_CHECK(prepared != nullptr, "{}: no prepared weight as {}", op_, name);
        const TensorView shape(nullptr, types_.compute,
                               {prepared->num_rows(), prepared->num_columns()});
        return compute<names>(shape, name);
    }
    // A tensor of any shape: only how many elements it has counts.
    Operands& elements(const TensorView& tensor, std::string_view name) {
        dims_.bind<"elements">({nullptr, tensor.dtype(), {tensor.num_elements()}}, name);
        return *this;
    }
    Operands& elements(const TensorView& tensor, std::string_view name, DType dtype) {
        expect(tensor, name, dtype);
        return elements(tensor, name);
    }
    Operands& state(const AttentionState& state) {
        return accum<"T Hq D">(state.acc, "acc")
            .accum<"T Hq">(state.m, "m")
            .accum<"T Hq">(state.l, "l");
    }

    std::int64_t operator[](std::string_view letter) const { return dims_[letter]; }
    const Dims& dims() const { return dims_; }

private:
    template <DimNames names>
    Operands& bind(const TensorView& tensor, std::string_view name, DType dtype) {
        dims_.bind<names>(tensor, name);
        expect(tensor, name, dtype);
        return *this;
    }
    template <DimNames names>
    Operands& bind_either(const TensorView& tensor, std::string_view name, DType other) {
        dims_.bind<names>(tensor, name);
        RM_CHECK(tensor.dtype() == types_.compute || tensor.dtype() == other,
                 "{}: {} is {}, should be {} or {}", op_, name, shape_string(tensor),
                 to_string(types_.compute), to_string(other));
        return *this;
    }
    void expect(const TensorView& tensor, std::string_view name, DType dtype) const {
        RM_CHECK(tensor.dtype() == dtype, "{}: {} is {}, should be {}", op_, name,
                 shape_string(tensor), to_string(dtype));
    }

    std::string_view op_;
    const NumericTypes& types_;
    Dims dims_;
};

void check_tokens(std::string_view op, std::string_view name, std::span<const Run> runs,
                  std::int64_t tokens) {
    RM_CHECK(num_tokens(runs) == tokens, "{}: {} of {} tokens for tensors of {}", op, name,
             num_tokens(runs), tokens);
}

template <typename Op>
void check_heads_and_runs(std::string_view name, const Op& op, const Operands& operands) {
    const auto Hq = operands["Hq"], Hk = operands["Hk"];
    RM_CHECK(Hk > 0 && Hq % Hk == 0, "{}: {} query heads over {} key-value heads", name, Hq, Hk);
    check_tokens(name, "q_runs", op.q_runs, operands["T"]);
    check_tokens(name, "kv_runs", op.kv_runs, operands["S"]);
    RM_CHECK(op.scale > 0, "{}: scale {}; it must be positive", name, op.scale);
}

void check_share(std::string_view name, const RowShare& rows, std::int64_t here) {
    const std::int64_t total = rows.total == 0 ? here : rows.total;
    RM_CHECK(here > 0 && rows.first >= 0 && rows.first + here <= total,
             "{}: rows {}+{} of a vocabulary of {}", name, rows.first, here, total);
}

void check_some_heads(std::string_view name, std::int64_t first, std::int64_t count,
                      std::int64_t heads) {
    RM_CHECK(first >= 0 && count >= 0 && first + count <= heads,
             "copy_heads: heads {}+{} of {}, which has {}", first, count, name, heads);
}

}  // namespace

Dims check_operands(const LinearFwd& op, const NumericTypes& types) {
    Operands operands("linear_fwd", types);
    operands.weight<"N K">(op.weight, "weight").compute<"T K">(op.x, "x").compute<"T N">(op.y, "y");
    return operands.dims();
}

Dims check_operands(const LinearBwdInput& op, const NumericTypes& types) {
    Operands operands("linear_bwd_input", types);
    operands.weight<"N K">(op.weight, "weight");
    operands.compute<"T N">(op.d_y, "d_y").compute<"T K">(op.d_x, "d_x");
    return operands.dims();
}

Dims check_operands(const LinearBwdWeight& op, const NumericTypes& types) {
    Operands operands("linear_bwd_weight", types);
    operands.compute<"T N">(op.d_y, "d_y").compute<"T K">(op.x, "x");
    operands.accum<"N K">(op.d_weight, "d_weight");
    return operands.dims();
}

Dims check_operands(const RmsNormFwd& op, const NumericTypes& types) {
    Operands operands("rmsnorm_fwd", types);
    operands.compute<"T C">(op.x, "x").master<"C">(op.weight, "weight");
    operands.compute<"T C">(op.y, "y").accum<"T">(op.rstd, "rstd");
    return operands.dims();
}

Dims check_operands(const RmsNormBwd& op, const NumericTypes& types) {
    Operands operands("rmsnorm_bwd", types);
    operands.compute<"T C">(op.d_y, "d_y").compute<"T C">(op.x, "x");
    operands.master<"C">(op.weight, "weight").accum<"T">(op.rstd, "rstd");
    operands.compute<"T C">(op.d_x, "d_x").accum<"C">(op.d_weight, "d_weight");
    return operands.dims();
}

Dims check_operands(const RopeTable& op, const NumericTypes& types) {
    Operands operands("rope_table", types);
    operands.accum<"T half">(op.cos, "cos").accum<"T half">(op.sin, "sin");
    check_tokens("rope_table", "runs", op.runs, operands["T"]);
    RM_CHECK(static_cast<std::int64_t>(op.inv_freq.size()) == operands["half"],
             "rope_table: {} frequencies, tables of {}", op.inv_freq.size(), operands["half"]);
    return operands.dims();
}

Dims check_operands(const RopeApply& op, const NumericTypes& types) {
    Operands operands("rope_apply", types);
    operands.compute<"T H D">(op.x, "x");
    operands.accum<"T half">(op.cos, "cos").accum<"T half">(op.sin, "sin");
    RM_CHECK(operands["D"] == 2 * operands["half"],
             "rope_apply: tables of {} frequencies for head dim {}", operands["half"],
             operands["D"]);
    return operands.dims();
}

Dims check_operands(const SwigluFwd& op, const NumericTypes& types) {
    Operands operands("swiglu_fwd", types);
    operands.compute<"T F">(op.gate, "gate").compute<"T F">(op.up, "up").compute<"T F">(op.h, "h");
    return operands.dims();
}

Dims check_operands(const SwigluBwd& op, const NumericTypes& types) {
    Operands operands("swiglu_bwd", types);
    operands.compute<"T F">(op.d_h, "d_h").compute<"T F">(op.gate, "gate");
    operands.compute<"T F">(op.up, "up");
    operands.compute<"T F">(op.d_gate, "d_gate").compute<"T F">(op.d_up, "d_up");
    return operands.dims();
}

Dims check_operands(const EmbeddingFwd& op, const NumericTypes& types) {
    Operands operands("embedding_fwd", types);
    operands.indices<"T">(op.tokens, "tokens").compute_or_master<"V C">(op.table, "table");
    operands.compute<"T C">(op.x, "x");
    check_share("embedding_fwd", op.rows, operands["V"]);
    return operands.dims();
}

Dims check_operands(const EmbeddingBwd& op, const NumericTypes& types) {
    Operands operands("embedding_bwd", types);
    operands.indices<"T">(op.tokens, "tokens").compute<"T C">(op.d_x, "d_x");
    operands.accum<"V C">(op.d_table, "d_table");
    check_share("embedding_bwd", op.rows, operands["V"]);
    return operands.dims();
}

Dims check_operands(const LinearCrossEntropy& op, const NumericTypes& types) {
    Operands operands("linear_cross_entropy", types);
    operands.compute<"T C">(op.x, "x").weight<"V C">(op.head, "head");
    operands.indices<"T">(op.targets, "targets").scalars<"1">(op.loss_sum, "loss_sum");
    if (!op.d_x.empty()) operands.compute<"T C">(op.d_x, "d_x").accum<"V C">(op.d_head, "d_head");
    return operands.dims();
}

Dims check_operands(const HeadStatistics& op, const NumericTypes& types) {
    Operands operands("head_statistics", types);
    operands.compute<"T C">(op.x, "x").weight<"V C">(op.head, "head");
    operands.indices<"T">(op.targets, "targets").scalars<"T 3">(op.statistics, "statistics");
    check_share("head_statistics", op.rows, operands["V"]);
    return operands.dims();
}

Dims check_operands(const CombineHeadStatistics& op, const NumericTypes& types) {
    Operands operands("combine_head_statistics", types);
    operands.scalars<"G T 3">(op.parts, "parts").indices<"T">(op.targets, "targets");
    operands.scalars<"T">(op.lse, "lse").scalars<"1">(op.loss_sum, "loss_sum");
    RM_CHECK(operands["G"] > 0, "combine_head_statistics: no parts");
    return operands.dims();
}

Dims check_operands(const HeadBwd& op, const NumericTypes& types) {
    Operands operands("head_bwd", types);
    operands.compute<"T C">(op.x, "x").weight<"V C">(op.head, "head");
    operands.indices<"T">(op.targets, "targets").scalars<"T">(op.lse, "lse");
    operands.compute<"T C">(op.d_x, "d_x").accum<"V C">(op.d_head, "d_head");
    check_share("head_bwd", op.rows, operands["V"]);
    return operands.dims();
}

Dims check_operands(const AttentionBegin& op, const NumericTypes& types) {
    return Operands("attention_begin", types).state(op.state).dims();
}

Dims check_operands(const AttentionFwd& op, const NumericTypes& types) {
    Operands operands("attention_fwd", types);
    operands.state(op.state).compute<"T Hq D">(op.q, "q");
    operands.compute<"S Hk D">(op.k, "k").compute<"S Hk D">(op.v, "v");
    check_heads_and_runs("attention_fwd", op, operands);
    return operands.dims();
}

Dims check_operands(const AttentionFinish& op, const NumericTypes& types) {
    Operands operands("attention_finish", types);
    operands.state(op.state).compute<"T Hq D">(op.out, "out").accum<"T Hq">(op.lse, "lse");
    return operands.dims();
}

Dims check_operands(const AttentionDelta& op, const NumericTypes& types) {
    Operands operands("attention_delta", types);
    operands.compute<"T Hq D">(op.d_out, "d_out").compute<"T Hq D">(op.out, "out");
    operands.accum<"T Hq">(op.delta, "delta");
    return operands.dims();
}

Dims check_operands(const AttentionBwd& op, const NumericTypes& types) {
    Operands operands("attention_bwd", types);
    operands.compute<"T Hq D">(op.q, "q");
    operands.compute<"S Hk D">(op.k, "k").compute<"S Hk D">(op.v, "v");
    operands.compute<"T Hq D">(op.d_out, "d_out");
    operands.accum<"T Hq">(op.lse, "lse").accum<"T Hq">(op.delta, "delta");
    operands.accum<"T Hq D">(op.d_q, "d_q");
    operands.accum<"S Hk D">(op.d_k, "d_k").accum<"S Hk D">(op.d_v, "d_v");
    check_heads_and_runs("attention_bwd", op, operands);
    return operands.dims();
}

Dims check_operands(const FillZero& op, const NumericTypes& types) {
    return Operands("fill_zero", types).elements(op.x, "x").dims();
}

Dims check_operands(const Copy& op, const NumericTypes& types) {
    const DType from = op.from.dtype(), to = op.to.dtype();
    RM_CHECK(from == to || (from != DType::i32 && to != DType::i32),
             "copy: {} is not converted to {}; f64, f32 and bf16 are", to_string(from),
             to_string(to));
    return Operands("copy", types).elements(op.from, "from").elements(op.to, "to").dims();
}

Dims check_operands(const Add& op, const NumericTypes& types) {
    RM_CHECK(op.x.dtype() == types.compute || op.x.dtype() == types.accum,
             "add: x is {}; {} and {} are added here", shape_string(op.x), to_string(types.compute),
             to_string(types.accum));
    return Operands("add", types).elements(op.x, "x").elements(op.y, "y", op.x.dtype()).dims();
}

Dims check_operands(const CopyHeads& op, const NumericTypes& types) {
    Operands operands("copy_heads", types);
    operands.compute_or_accum<"T A D">(op.from, "from").compute_or_accum<"T B D">(op.to, "to");
    check_some_heads("from", op.from_first, op.count, operands["A"]);
    check_some_heads("to", op.to_first, op.count, operands["B"]);
    return operands.dims();
}

Dims check_operands(const SumParts& op, const NumericTypes& types) {
    const std::int64_t G = op.parts.rank() == 0 ? 0 : op.parts.dim(0);
    RM_CHECK(G > 0 && op.parts.num_elements() == G * op.y.num_elements(),
             "sum_parts: parts {} are not one or more of y {}", shape_string(op.parts),
             shape_string(op.y));
    Operands operands("sum_parts", types);
    operands.compute_or_accum<"G elements">(op.parts.reshaped({G, op.y.num_elements()}), "parts");
    return operands.elements(op.y, "y", op.parts.dtype()).dims();
}

Dims check_operands(const SumSquares& op, const NumericTypes& types) {
    return Operands("sum_squares", types)
        .elements(op.x, "x", types.accum)
        .scalars<"1">(op.sum, "sum")
        .dims();
}

Dims check_operands(const ClipFactor& op, const NumericTypes& types) {
    return Operands("clip_factor", types)
        .scalars<"1">(op.sum, "sum")
        .scalars<"3">(op.out, "out")
        .dims();
}

Dims check_operands(const AdamW& op, const NumericTypes& types) {
    Operands operands("adamw", types);
    operands.elements(op.weight, "weight", types.master).elements(op.grad, "grad", types.accum);
    RM_CHECK(op.m.dtype() == types.accum || op.m.dtype() == DType::bf16,
             "adamw: m is {}; moments are {} or bf16", shape_string(op.m), to_string(types.accum));
    operands.elements(op.m, "m").elements(op.v, "v", op.m.dtype());
    operands.scalars<"3">(op.clip, "clip");
    RM_CHECK(op.step >= 1, "adamw: step {}; the first is 1", op.step);
    RM_CHECK(op.columns == 0 || (op.columns > 0 && op.first_column >= 0 &&
                                 op.first_column + op.columns <= op.all_columns),
             "adamw: columns {}+{} of {}", op.first_column, op.columns, op.all_columns);
    return operands.dims();
}

Dims check_prepare(const TensorView& weight, const PreparedWeight& prepared,
                   const NumericTypes& types) {
    Operands operands("prepare", types);
    operands.weight<"N K">(&prepared, "prepared").compute_or_master<"N K">(weight, "weight");
    return operands.dims();
}

}  // namespace rm
