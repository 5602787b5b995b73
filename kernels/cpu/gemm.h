#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/simd/loops.h"
#include "kernels/kernels.h"

// Products with packed matrices, behind which oneDNN or our own loops stand (CMake chooses the
// file).
namespace rm::cpu {

// Rows of one product. A product is always made of calls of exactly this many rows, so a row's bits
// depend neither on the number of rows of an op nor on who computes the others.
constexpr std::int64_t kGemmRows = simd::kTileRows;

// A matrix B given by strides: element (k, n) is b[k * k_stride + n * n_stride].
struct MatrixView {
    const float* data = nullptr;
    std::int64_t k_stride = 0, n_stride = 0;
};

// B (K, N) in the form the product wants.
class PackedMatrix {
public:
    PackedMatrix(std::int64_t K, std::int64_t N) : K_(K), N_(N) {}
    virtual ~PackedMatrix() = default;
    std::int64_t K() const { return K_; }
    std::int64_t N() const { return N_; }

    // Packing is cut into items that any thread may do.
    virtual std::int64_t num_pack_items() const = 0;
    virtual void pack(const MatrixView& matrix, std::int64_t item) = 0;
    // y (64, N) = or += x (64, K) B, on the calling thread alone. `scratch` has scratch_floats.
    virtual void multiply(const float* x, float* y, Into into, float* scratch) const = 0;
    virtual std::int64_t scratch_floats() const = 0;

private:
    std::int64_t K_ = 0, N_ = 0;
};

class Gemm {
public:
    virtual ~Gemm() = default;
    virtual Bytes packed_bytes(std::int64_t K, std::int64_t N) const = 0;
    virtual std::unique_ptr<PackedMatrix> make(std::int64_t K, std::int64_t N, Device& device) = 0;
};
std::unique_ptr<Gemm> make_own_gemm(const simd::Loops& loops);
std::unique_ptr<Gemm> make_dnnl_gemm();  // null when built without oneDNN (CMake chooses the file)

}  // namespace rm::cpu
