#include <algorithm>

#include "kernels/cpu/gemm.h"

namespace rm::cpu {
namespace {

class OwnPacked final : public PackedMatrix {
public:
    OwnPacked(std::int64_t K, std::int64_t N, const simd::Loops& loops, Device& device)
        : PackedMatrix(K, N),
          loops_(loops),
          packed_(device, MemoryKind::weights, DType::f32, {loops.packed_size(K, N)}) {}

    std::int64_t num_pack_items() const override { return (N() + kColumns - 1) / kColumns; }
    void pack(const MatrixView& b, std::int64_t item) override {
        const std::int64_t first = item * kColumns;
        loops_.pack_columns(b.data, b.k_stride, b.n_stride, K(), first,
                            std::min(first + kColumns, N()), packed_->as<float>());
    }
    void multiply(const float* x, float* y, Into into, float* scratch) const override {
        loops_.gemm_rows({.rows = kGemmRows,
                          .N = N(),
                          .K = K(),
                          .x = x,
                          .x_stride = K(),
                          .packed = packed_->as<float>(),
                          .y = y,
                          .y_stride = N(),
                          .add = into == Into::add,
                          .scratch = scratch});
    }
    std::int64_t scratch_floats() const override { return loops_.gemm_scratch; }

private:
    static constexpr std::int64_t kColumns = 64;

    const simd::Loops& loops_;
    Tensor packed_;
};

class OwnGemm final : public Gemm {
public:
    explicit OwnGemm(const simd::Loops& loops) : loops_(loops) {}
    Bytes packed_bytes(std::int64_t K, std::int64_t N) const override {
        return {loops_.packed_size(K, N) * size_of(DType::f32)};
    }
    std::unique_ptr<PackedMatrix> make(std::int64_t K, std::int64_t N, Device& device) override {
        return std::make_unique<OwnPacked>(K, N, loops_, device);
    }

private:
    const simd::Loops& loops_;
};

}  // namespace

std::unique_ptr<Gemm> make_own_gemm(const simd::Loops& loops) {
    return std::make_unique<OwnGemm>(loops);
}

}  // namespace rm::cpu
