#include "kernels/cuda/fp8/blocks.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/fp8/block_product.cuh"

namespace rm::cuda {
namespace {

using device::E4m3;
using device::E5m2;

constexpr int kBlockShift = 7;
static_assert(1 << kBlockShift == kFp8Block);

device::Fp8BlockOperand operand_of(const Fp8Matrix& matrix) {
    const std::int64_t rows = matrix.codes.dim(0), depth = matrix.codes.dim(1);
    const bool each = matrix.scale.dim(0) == rows;
    RM_CHECK((each || matrix.scale.dim(0) == fp8_blocks(rows)) &&
                 matrix.scale.dim(1) == fp8_blocks(depth),
             "scales {} for codes {}", shape_string(matrix.scale), shape_string(matrix.codes));
    return {matrix.codes.as<std::uint8_t>(), matrix.scale.as<float>(), rows,
            each ? 0 : kBlockShift};
}

template <typename FormatA, typename FormatB, typename Out>
void launch_product(const Fp8Product& p, const Launch& where) {
    using Kernel = device::Fp8BlockProductOf<FormatA, FormatB, Out>;
    static_assert(Kernel::kStep == kFp8Block);
    const simt::Extent grid{.x = static_cast<int>(ceil_div(p.rows(), Kernel::kTile)),
                            .y = static_cast<int>(ceil_div(p.columns(), Kernel::kTile))};
    launch<Kernel>(where, grid,
                   {.a = operand_of(p.a),
                    .b = operand_of(p.b),
                    .out = p.out.as<Out>(),
                    .depth = p.depth(),
                    .adds = p.into == Into::add ? 1 : 0});
}

template <typename Out>
void launch_product(const Fp8Product& p, const Launch& where) {
    if (p.a.format == Fp8::e5m2) return launch_product<E5m2, E4m3, Out>(p, where);
    if (p.b.format == Fp8::e5m2) return launch_product<E4m3, E5m2, Out>(p, where);
    launch_product<E4m3, E4m3, Out>(p, where);
}

void check_block_product(const Fp8Product& p, const Launch& where) {
    RM_CHECK(where.profile.arch >= kFirstFp8Arch, "FP8 products need sm_{}; this is sm_{}",
             kFirstFp8Arch, where.profile.arch);
    RM_CHECK(p.a.format == Fp8::e4m3 || p.b.format == Fp8::e4m3,
             "matrix product: both operands are e5m2");
    RM_CHECK(p.a.blocks() && p.b.blocks(), "matrix product: scales {} and {}; blocks have several",
             shape_string(p.a.scale), shape_string(p.b.scale));
    RM_CHECK(p.depth() % kFp8Align == 0 && p.columns() % kFp8Align == 0 &&
                 p.a.codes.dim(0) == p.rows() && p.b.codes.dim(0) == p.columns() &&
                 p.b.codes.dim(1) == p.depth(),
             "matrix product: {} of codes {} and {}; FP8 takes multiples of {}",
             shape_string(p.out), shape_string(p.a.codes), shape_string(p.b.codes), kFp8Align);
    RM_CHECK(starts_are_aligned({p.a.codes, p.b.codes, p.out}),
             "FP8 is multiplied from and to multiples of 16 bytes");
}

}  // namespace

void multiply_blocks(const Fp8Product& p, const Launch& where) {
    check_block_product(p, where);
    if (p.depth() == 0) {
        if (p.into == Into::overwrite) run(FillZero{p.out}, where);
        return;
    }
    if (p.out.dtype() == DType::f32) return launch_product<float>(p, where);
    launch_product<std::uint16_t>(p, where);
}

}  // namespace rm::cuda
