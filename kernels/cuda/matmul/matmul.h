#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/kernels.h"

// Matrix products, the one thing that `cuda` and `emu` do not share: cuBLASLt there, host loops
// here.
namespace rm::cuda {

enum class Stored { plain, transposed };

// out (rows, columns) = or += a (rows, depth) b (depth, columns), bf16 with f32 sums.
struct MatrixProduct {
    TensorView a;  // (rows, depth) bf16; (depth, rows) when it is stored transposed
    TensorView b;  // (depth, columns) bf16; (columns, depth) when it is stored transposed
    Stored a_stored = Stored::plain;
    Stored b_stored = Stored::plain;
    TensorView out;  // (rows, columns) bf16 or f32
    Into into = Into::overwrite;
    // Elements from a row of `a` as stored to the next, when it is not dense.
    std::int64_t a_stride = 0;

    std::int64_t rows() const { return out.dim(0); }
    std::int64_t columns() const { return out.dim(1); }
    std::int64_t depth() const { return a.dim(a_stored == Stored::plain ? 1 : 0); }
    std::int64_t stride_of_a() const { return a_stride != 0 ? a_stride : a.dim(1); }
};

// Dims that agree, types as above; a CheckError otherwise.
void check_product(const MatrixProduct& product);

// out (rows, columns) = or += a b^T, each element of a and b its code times its scale: the one
// layout that FP8 has on sm_89. Dims that agree: see kernels/ops/fp8_linear.h.
struct Fp8Product {
    Fp8Matrix a;     // (rows, depth)
    Fp8Matrix b;     // (columns, depth); not both e5m2
    TensorView out;  // bf16 or f32
    Into into = Into::overwrite;

    std::int64_t rows() const { return out.dim(0); }
    std::int64_t columns() const { return out.dim(1); }
    std::int64_t depth() const { return a.codes.dim(1); }
};

class MatMul {
public:
    virtual ~MatMul() = default;
    // Pure, and reads shapes only: the planner asks without a device. A product of fewer tokens
    // needs no more.
    virtual Bytes workspace_bytes(const MatrixProduct& product) const = 0;
    // Queues the product on where.stream. With where.reproducible the same product gives the same
    // bits each time. `workspace` is 64-byte aligned and as large as was asked for.
    virtual void run(const MatrixProduct& product, Workspace workspace, const Launch& where) = 0;
    // Likewise in FP8.
    virtual Bytes workspace_bytes(const Fp8Product& product) const = 0;
    virtual void run(const Fp8Product& product, Workspace workspace, const Launch& where) = 0;
};

}  // namespace rm::cuda
