#include "kernels/cpu/choose_code.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "base/format.h"
#include "kernels/simt/sanitizers.h"

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

// The codes that this machine supports; the first is known to be good.
std::vector<CodeChoice> contenders(DType compute) {
    const simd::Loops* widest = widest_loops();
    const bool library = can_run(CpuCode::onednn);
    if (compute == DType::f32) {
        std::vector<CodeChoice> all{{.loops = widest}};
        if (library) all.push_back({.loops = widest, .library = true});
        return all;
    }
    const simd::Loops* tiles = simd::find_loops(Width::amx);
    const simd::Loops* paired = tiles ? tiles : widest;
    std::vector<CodeChoice> all{{.loops = widest}};
    if (!has_pairs(*paired)) return all;
    all.push_back({.loops = paired, .pairs = true});
    // oneDNN schedules pairs better than our loops.
    if (library) all.push_back({.loops = paired, .pairs = true, .library = true});
    if (tiles) {
        std::swap(all[0], all[1]);
    } else if (simd::has_fast_pairs()) {
        std::swap(all.front(), all.back());
    }
    return all;
}

class ProductRun {
public:
    ProductRun(const CodeChoice& choice, DType compute)
        : device_(make_host_device()),
          gemm_(choice.make_gemm(compute)),
          matrix_(gemm_->make(kSize, kSize, *device_)),
          x_(*device_, MemoryKind::workspace, compute, {kSize, kSize}),
          y_(*device_, MemoryKind::workspace, compute, {kSize, kSize}),
          scratch_(*device_, MemoryKind::workspace, DType::f32, {matrix_->scratch_floats()}) {
        device_->zero(x_);
        const auto type = compute == DType::bf16 ? simd::Type::bf16 : simd::Type::f32;
        for (std::int64_t item = 0; item < matrix_->num_pack_items(); ++item)
            matrix_->pack({x_.view().data(), type, 1, kSize}, item);
        op_ = {.rows = kSize,
               .columns = kSize,
               .x = x_.view().data(),
               .x_stride = kSize,
               .y = y_.view().data(),
               .y_stride = kSize,
               .y_type = type,
               .scratch = scratch_.view().as<float>()};
    }

    void once() {
        const auto start = std::chrono::steady_clock::now();
        const ProductCut cut = matrix_->cut(kSize, 1);
        for (std::int64_t row = 0; row < kSize; row += cut.rows)
            for (std::int64_t column = 0; column < kSize; column += cut.columns)
                multiply(row, column, cut);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        fastest_ = std::min(fastest_, taken.count());
    }
    double flops_per_second() const { return 2.0 * kSize * kSize * kSize / fastest_; }

private:
    static constexpr std::int64_t kSize = 384;

    void multiply(std::int64_t row, std::int64_t column, const ProductCut& cut) const {
        simd::ProductRows part = op_;
        part.rows = std::min(cut.rows, kSize - row);
        part.first = column;
        part.columns = std::min(cut.columns, kSize - column);
        const std::int64_t skipped = row * kSize * size_of(x_.view().dtype());
        part.x = static_cast<const std::byte*>(op_.x) + skipped;
        part.y = static_cast<std::byte*>(op_.y) + skipped;
        matrix_->multiply(part);
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<Gemm> gemm_;
    std::unique_ptr<PackedMatrix> matrix_;
    Tensor x_, y_, scratch_;
    simd::ProductRows op_;
    double fastest_ = std::numeric_limits<double>::infinity();
};

// Takes turns, so that other load affects all alike; returns the fastest run of each.
std::vector<double> measure(const std::vector<CodeChoice>& choices, DType compute) {
    constexpr int kTurns = 6;
    std::vector<std::unique_ptr<ProductRun>> runs;
    for (const CodeChoice& choice : choices)
        runs.push_back(std::make_unique<ProductRun>(choice, compute));
    for (int turn = 0; turn < kTurns; ++turn)
        for (const auto& run : runs)
            run->once();
    std::vector<double> rates;
    for (const auto& run : runs)
        rates.push_back(run->flops_per_second());
    return rates;
}

CodeChoice fastest(DType compute) {
    constexpr double kClearly = 1.25;
    const std::vector<CodeChoice> all = contenders(compute);
#if defined(RM_ASAN) || defined(__SANITIZE_THREAD__) || RM_HAS_FEATURE(thread_sanitizer)
    return all.front();  // our loops are slowed down and the library is not
#endif
    if (all.size() == 1) return all.front();
    const std::vector<double> rates = measure(all, compute);
    const auto best = std::max_element(rates.begin(), rates.end());
    if (*best < kClearly * rates.front()) return all.front();
    return all[usize(best - rates.begin())];
}

CodeChoice best_code(DType compute) {
    static const CodeChoice kF32 = fastest(DType::f32);
    if (compute == DType::f32) return kF32;
    static const CodeChoice kBf16 = fastest(DType::bf16);
    return kBf16;
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
