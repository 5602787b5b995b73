#include "kernels/cpu/choose_code.h"

#include "base/format.h"

namespace rm::cpu {
namespace {

using simd::Width;

const simd::Loops* widest_loops() {
    for (const Width width : {Width::avx512_bf16, Width::avx512, Width::avx2}) {
        if (const simd::Loops* loops = simd::find_loops(width)) return loops;
    }
    return simd::find_loops(Width::base);
}

const simd::Loops* own_loops(CpuCode code) {
    switch (code) {
        case CpuCode::own_tile_model:
            return simd::find_loops(Width::tile_model);
        case CpuCode::own_amx:
            return simd::find_loops(Width::amx);
        case CpuCode::own_avx512_bf16:
            return simd::find_loops(Width::avx512_bf16);
        case CpuCode::own_avx512:
            return simd::find_loops(Width::avx512);
        case CpuCode::own_avx2:
            return simd::find_loops(Width::avx2);
        case CpuCode::own_base:
            return simd::find_loops(Width::base);
        case CpuCode::best:
        case CpuCode::onednn:
            break;
    }
    return widest_loops();
}

bool has_pairs(const simd::Loops& loops) {
    return loops.pairs.rows != nullptr;
}

// Rates of all codes by kind of CPU: docs/benchmarks/cpu-2026-11.md.
CodeChoice best_code(DType compute) {
    const simd::Loops* widest = widest_loops();
    if (compute == DType::f32) return {.loops = widest};
    if (const simd::Loops* tiles = simd::find_loops(Width::amx))
        return {.loops = tiles, .pairs = true};
    if (!has_pairs(*widest) || !simd::has_fast_pairs()) return {.loops = widest};
    // oneDNN schedules pairs better than our loops.
    return {.loops = widest, .pairs = true, .library = can_run(CpuCode::onednn)};
}

}  // namespace

const simd::ProductLoops& CodeChoice::products(DType compute) const {
    if (compute == DType::f32) return loops->f32;
    return pairs ? loops->pairs : loops->widened;
}
const simd::AttentionLoops& CodeChoice::attention(DType compute) const {
    if (compute == DType::f32) return loops->attention_f32;
    return pairs ? loops->attention_pairs : loops->attention_widened;
}
std::unique_ptr<Gemm> CodeChoice::make_gemm(DType compute) const {
    auto product = library ? make_onednn_gemm(compute) : nullptr;
    return product ? std::move(product) : make_own_gemm(products(compute));
}

std::string CodeChoice::describe(DType compute) const {
    const std::string_view whose = library ? "oneDNN" : "our loops";
    if (compute == DType::f32) return format("{}, products by {}", loops->name, whose);
    return format("{}, products of bf16{} by {}", loops->name, pairs ? "" : " widened to f32",
                  whose);
}

CodeChoice choose_code(CpuCode code, DType compute) {
    if (code == CpuCode::best) return best_code(compute);
    const simd::Loops* loops = own_loops(code);
    const bool pairs = loops != nullptr && has_pairs(*loops);
    return {.loops = loops,
            .pairs = pairs,
            .library = code == CpuCode::onednn && (compute == DType::f32 || pairs)};
}

}  // namespace rm::cpu
