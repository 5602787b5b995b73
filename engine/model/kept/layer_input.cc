#include "engine/model/kept/layer_input.h"

namespace rm {

bool rounds_inputs(const MemoryPolicy& policy, DType compute) {
    if (kept_place(policy) != TokenStore::Place::host) return false;
    switch (policy.keep_precision) {
        case KeptPrecision::compute:
            return false;
        case KeptPrecision::bf16:
            return compute != DType::bf16;
        case KeptPrecision::fp8:
            return true;
    }
    RM_CHECK(false, "keep precision {}", static_cast<int>(policy.keep_precision));
}

void LayerInput::make_rounded(StepMemory& memory, int layer) {
    if (!rounds_inputs(memory.policy(), memory.types().compute)) return;
    const std::int64_t rows = x.shape().dim(0), C = x.shape().dim(1);
    const bool packs = memory.policy().keep_precision == KeptPrecision::fp8;
    rounded = kept_store(memory, {"kept x", layer}, packs ? DType::i32 : DType::bf16,
                         {rows, packs ? packed_words(C) : C});
}

void LayerInput::drop_unrounded() {
    if (!rounded.empty()) x = {};
}

TokenStore residual_store(StepMemory& memory, BufferName name, Residual residual, std::int64_t rows,
                          std::int64_t hidden) {
    const DType compute = memory.types().compute;
    const bool passes = residual == Residual::passing || rounds_inputs(memory.policy(), compute);
    const auto make = passes ? working_store : kept_store;
    return make(memory, name, compute, {rows, hidden});
}

InputWindows::InputWindows(Windows& all, LayerInput& input)
    : x_(all.on(&input.x, Rows::shards, RowAccess::read)) {
    if (x_.empty()) rounded_ = all.on(&input.rounded, Rows::shards, RowAccess::read);
}

TensorView InputWindows::place(const Tile& tile, const Tensor& scratch) const {
    if (!x_.empty()) return x_(tile);
    return scratch->rows(0, rounded_(tile).dim(0));
}

TensorView InputWindows::fetch(const Ops& run, const Tile& tile, const Tensor& scratch) const {
    const TensorView rows = place(tile, scratch);
    if (!x_.empty()) return rows;
    const TensorView rounded = rounded_(tile);
    if (rounded.dtype() == DType::i32) {
        run(UnpackRows{rounded, rows});
    } else {
        run(Copy{rounded, rows});
    }
    return rows;
}

void round_rows(const Ops& run, const TensorView& x, const TensorView& rounded) {
    if (rounded.dtype() == DType::i32) return run(PackRows{x, rounded});
    run(Copy{x, rounded});
}

}  // namespace rm
