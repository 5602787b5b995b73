#include "kernels/emu/emu_kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/device_kernels.h"

namespace rm {
namespace {

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

void multiply_f32(const MatrixProduct& p, const float* a, const float* b) {
    const std::int64_t columns = p.columns(), depth = p.depth();
    if (p.into == Into::overwrite) std::fill_n(p.out.as<float>(), p.rows() * columns, 0.0f);
    for (std::int64_t i = 0; i < p.rows(); ++i) {
        for (std::int64_t k = 0; k < depth; ++k)
            add_row(a[i * depth + k], b + k * columns, p.out.as<float>() + i * columns, columns);
    }
}

void multiply_bf16(const MatrixProduct& p, const float* a, const float* b) {
    const std::int64_t columns = p.columns(), depth = p.depth();
    std::vector<float> sums(usize(columns));
    for (std::int64_t i = 0; i < p.rows(); ++i) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t k = 0; k < depth; ++k)
            add_row(a[i * depth + k], b + k * columns, sums.data(), columns);
        Bf16* out = p.out.as<Bf16>() + i * columns;
        for (std::int64_t j = 0; j < columns; ++j) {
            const float before = p.into == Into::add ? from_bf16(out[j]) : 0.0f;
            out[j] = to_bf16(before + sums[usize(j)]);
        }
    }
}

void multiply(const MatrixProduct& p) {
    const std::vector<float> a = widened(p.a, p.a_stored, p.stride_of_a());
    const std::vector<float> b = widened(p.b, p.b_stored, p.b.dim(1));
    if (p.out.dtype() == DType::f32) return multiply_f32(p, a.data(), b.data());
    multiply_bf16(p, a.data(), b.data());
}

// Products by loops on the stream's thread, every sum in f32 and in ascending order of the depth.
// With an f32 target and Into::add the target itself is the sum, so that cutting a product along
// its depth changes no bit. (cuBLASLt does not promise that.)
class HostMatMul final : public cuda::MatMul {
public:
    Bytes workspace_bytes(const MatrixProduct&) const override { return {}; }
    void run(const MatrixProduct& product, Workspace, const Launch& where) override {
        cuda::check_product(product);
        where.stream.enqueue("product", [product] { multiply(product); });
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
