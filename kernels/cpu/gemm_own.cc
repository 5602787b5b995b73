#include <algorithm>
#include <limits>

#include "kernels/cpu/gemm.h"

namespace rm::cpu {
namespace {

class OwnPacked final : public PackedMatrix {
public:
    OwnPacked(std::int64_t K, std::int64_t N, const simd::ProductLoops& loops, Device& device)
        : PackedMatrix(K, N),
          loops_(loops),
          packed_(device.allocate({loops.packed_bytes(K, N)}, MemoryKind::weights)) {}

    std::int64_t num_pack_items() const override {
        return (N() + simd::kPackColumns - 1) / simd::kPackColumns;
    }
    void pack(const simd::MatrixView& b, std::int64_t item) override {
        const std::int64_t first = item * simd::kPackColumns;
        const std::int64_t last = std::min(first + simd::kPackColumns, N());
        loops_.pack(b, K(), first, last, packed_.data());
    }
    ProductCut cut(std::int64_t T, int num_workers) const override {
        return cut_product(T, N(), {simd::kProductRows, simd::kProductColumns}, num_workers);
    }
    void multiply(const simd::ProductRows& op) const override {
        simd::ProductRows full = op;
        full.K = K();
        full.packed = packed_.data();
        loops_.rows(full);
    }
    std::int64_t scratch_floats() const override { return loops_.scratch; }

private:
    const simd::ProductLoops& loops_;
    Buffer packed_;
};

class OwnGemm final : public Gemm {
public:
    explicit OwnGemm(const simd::ProductLoops& loops) : loops_(loops) {}
    Bytes packed_bytes(std::int64_t K, std::int64_t N) const override {
        return {loops_.packed_bytes(K, N)};
    }
    std::unique_ptr<PackedMatrix> make(std::int64_t K, std::int64_t N, Device& device) override {
        return std::make_unique<OwnPacked>(K, N, loops_, device);
    }

private:
    const simd::ProductLoops& loops_;
};

}  // namespace

std::unique_ptr<Gemm> make_own_gemm(const simd::ProductLoops& loops) {
    return std::make_unique<OwnGemm>(loops);
}

ProductCut cut_product(std::int64_t rows, std::int64_t columns, ProductCut largest,
                       std::int64_t num_workers) {
    // The cost of bringing a row or a column of operands in, in elements of the result.
    constexpr std::int64_t kMinRows = 64, kMinColumns = 2 * simd::kPackColumns, kEdge = 18;
    ProductCut best = largest;
    std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
    ProductCut cut;
    for (cut.rows = largest.rows; cut.rows >= kMinRows; cut.rows /= 2) {
        for (cut.columns = largest.columns; cut.columns >= kMinColumns; cut.columns /= 2) {
            const std::int64_t parts = cut.num_down(rows) * cut.num_across(columns);
            const std::int64_t rounds = (parts + num_workers - 1) / num_workers;
            const std::int64_t r = std::min(cut.rows, rows), c = std::min(cut.columns, columns);
            const std::int64_t cost = rounds * (r * c + kEdge * (r + c));
            if (cost < best_cost) {
                best = cut;
                best_cost = cost;
            }
        }
    }
    return best;
}

}  // namespace rm::cpu
