#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/simd/loops.h"
#include "kernels/kernels.h"

// Products with packed matrices: our own loops, or oneDNN (CMake chooses the file).
namespace rm::cpu {

// How large a part of a result one thread computes at a time.
struct ProductCut {
    std::int64_t rows = 0, columns = 0;

    std::int64_t num_down(std::int64_t all_rows) const { return (all_rows + rows - 1) / rows; }
    std::int64_t num_across(std::int64_t all_columns) const {
        return (all_columns + columns - 1) / columns;
    }
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
    virtual void pack(const simd::MatrixView& matrix, std::int64_t item) = 0;

    // Cuts a result with T rows, so that `num_workers` have enough to do.
    virtual ProductCut cut(std::int64_t T, int num_workers) const = 0;
    // On the calling thread alone; `op` leaves K and packed open. A row's bits depend neither on
    // the cut nor on the other rows. x and y are dense and of the compute type; a y that is
    // overwritten may be f32.
    virtual void multiply(const simd::ProductRows& op) const = 0;
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
std::unique_ptr<Gemm> make_own_gemm(const simd::ProductLoops& loops);
// Null when built without oneDNN. bf16 needs a CPU with products of bf16.
std::unique_ptr<Gemm> make_onednn_gemm(DType compute);

// The cut of a result (rows, columns) into parts of at most `largest`: large parts bring operands
// in less often, small ones let the workers end together.
ProductCut cut_product(std::int64_t rows, std::int64_t columns, ProductCut largest,
                       std::int64_t num_workers);

}  // namespace rm::cpu
