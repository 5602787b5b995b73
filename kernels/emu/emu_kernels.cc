#include "kernels/emu/emu_kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/round_fp8.h"

namespace rm {
namespace {

using cuda::Fp8Product;
using cuda::MatrixProduct;
using cuda::Stored;

// A stored matrix as f32, `rows` x `columns` as the product sees it.
std::vector<float> widened(const TensorView& matrix, Stored stored, std::int64_t stride) {
    const std::int64_t height = matrix.dim(0), width = matrix.dim(1);
    const auto* from = matrix.as<Bf16>();
    std::vector<float> to(usize(height * width));
    for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
            const std::int64_t at = stored == Stored::plain ? i * width + j : j * height + i;
            to[usize(at)] = from_bf16(from[i * stride + j]);
        }
    }
    return to;
}

void add_row(float factor, const float* x, float* sums, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j)
        sums[j] += factor * x[j];
}

// a (rows, depth) b (depth, columns)
struct WideProduct {
    std::int64_t rows = 0, columns = 0, depth = 0;
    std::vector<float> a, b;
    TensorView out;
    Into into = Into::overwrite;
};

void multiply_f32(const WideProduct& p) {
    if (p.into == Into::overwrite) std::fill_n(p.out.as<float>(), p.rows * p.columns, 0.0f);
    for (std::int64_t i = 0; i < p.rows; ++i) {
        for (std::int64_t k = 0; k < p.depth; ++k) {
            add_row(p.a[usize(i * p.depth + k)], &p.b[usize(k * p.columns)],
                    p.out.as<float>() + i * p.columns, p.columns);
        }
    }
}

void multiply_bf16(const WideProduct& p) {
    std::vector<float> sums(usize(p.columns));
    for (std::int64_t i = 0; i < p.rows; ++i) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t k = 0; k < p.depth; ++k) {
            add_row(p.a[usize(i * p.depth + k)], &p.b[usize(k * p.columns)], sums.data(),
                    p.columns);
        }
        Bf16* out = p.out.as<Bf16>() + i * p.columns;
        for (std::int64_t j = 0; j < p.columns; ++j) {
            const float before = p.into == Into::add ? from_bf16(out[j]) : 0.0f;
            out[j] = to_bf16(before + sums[usize(j)]);
        }
    }
}

void multiply(const WideProduct& p) {
    if (p.out.dtype() == DType::f32) return multiply_f32(p);
    multiply_bf16(p);
}

WideProduct widened(const MatrixProduct& p) {
    return {.rows = p.rows(),
            .columns = p.columns(),
            .depth = p.depth(),
            .a = widened(p.a, p.a_stored, p.stride_of_a()),
            .b = widened(p.b, p.b_stored, p.b.dim(1)),
            .out = p.out,
            .into = p.into};
}

// Numbers of codes and their scale, turned around if asked. Scales are powers of two, so that it
// is all the same whether they multiply numbers or sums.
std::vector<float> widened(const Fp8Matrix& matrix, Stored stored) {
    const std::int64_t height = matrix.codes.dim(0), width = matrix.codes.dim(1);
    const auto& numbers = numbers_of(matrix.format);
    const float scale = *matrix.scale.as<float>();
    const auto* codes = matrix.codes.as<std::uint8_t>();
    std::vector<float> to(usize(height * width));
    for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
            const std::int64_t at = stored == Stored::plain ? i * width + j : j * height + i;
            to[usize(at)] = numbers[codes[i * width + j]] * scale;
        }
    }
    return to;
}

WideProduct widened(const Fp8Product& p) {
    return {.rows = p.rows(),
            .columns = p.columns(),
            .depth = p.depth(),
            .a = widened(p.a, Stored::plain),
            .b = widened(p.b, Stored::transposed),
            .out = p.out,
            .into = p.into};
}

// Products by loops on the stream's thread, every sum in f32 and in ascending order of the depth.
// With an f32 target and Into::add the target itself is the sum, so that cutting a product along
// its depth changes no bit. (cuBLASLt does not promise that.)
class HostMatMul final : public cuda::MatMul {
public:
    Bytes workspace_bytes(const MatrixProduct&) const override { return {}; }
    void run(const MatrixProduct& product, Workspace, const Launch& where) override {
        cuda::check_product(product);
        where.stream.enqueue("product", [product] { multiply(widened(product)); });
    }
    Bytes workspace_bytes(const Fp8Product&) const override { return {}; }
    void run(const Fp8Product& product, Workspace, const Launch& where) override {
        where.stream.enqueue("product", [product] { multiply(widened(product)); });
    }
};

}  // namespace

std::unique_ptr<Kernels> make_emu_kernels(const EmuOptions& options,
                                          std::unique_ptr<Device> device) {
    return make_device_kernels({.name = "emu",
                                .device = std::move(device),
                                .matmul = std::make_unique<HostMatMul>(),
                                .profile = options.profile},
                               {.reproducible = options.reproducible,
                                .emulation = {.seed = options.seed},
                                .explain = options.explain});
}

}  // namespace rm
