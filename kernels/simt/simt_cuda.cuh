#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// simt.h on a GPU. PTX lives in this file only. PTX ISA 8.x: ldmatrix, mma.sync, cp.async.
#define SIMT_FN __device__ __forceinline__
#define SIMT_UNROLL _Pragma("unroll")

#include "kernels/simt/round_fp8.h"  // needs SIMT_FN

namespace rm::simt {

SIMT_FN int thread() {
    return static_cast<int>(threadIdx.x);
}
SIMT_FN int lane() {
    return static_cast<int>(threadIdx.x & 31);
}
SIMT_FN int warp() {
    return static_cast<int>(threadIdx.x >> 5);
}
SIMT_FN int block_x() {
    return static_cast<int>(blockIdx.x);
}
SIMT_FN int block_y() {
    return static_cast<int>(blockIdx.y);
}
SIMT_FN int block_z() {
    return static_cast<int>(blockIdx.z);
}
SIMT_FN int grid_x() {
    return static_cast<int>(gridDim.x);
}

SIMT_FN void sync_block() {
    __syncthreads();
}
SIMT_FN void sync_warp() {
    __syncwarp();
}

constexpr unsigned kWholeWarp = 0xffffffffu;
template <typename T>
SIMT_FN T shfl(T value, int from) {
    return __shfl_sync(kWholeWarp, value, from);
}
template <typename T>
SIMT_FN T shfl_xor(T value, int mask) {
    return __shfl_xor_sync(kWholeWarp, value, mask);
}
template <typename T>
SIMT_FN T shfl_up(T value, int delta) {
    return __shfl_up_sync(kWholeWarp, value, delta);
}
SIMT_FN int count_bits(std::uint32_t x) {
    return __popc(x);
}
SIMT_FN int lowest_bit(std::uint32_t x) {
    return __ffs(static_cast<int>(x)) - 1;
}
SIMT_FN std::uint32_t ballot(bool b) {
    return __ballot_sync(kWholeWarp, b);
}

SIMT_FN std::uint32_t shared_address(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
SIMT_FN void cp_async_16(void* dst, const void* src, int bytes = 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(dst)),
                 "l"(src), "r"(bytes)
                 : "memory");
}
SIMT_FN void cp_async_commit() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int N>
SIMT_FN void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

SIMT_FN void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
SIMT_FN void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

#define RM_MMA_F32(d, a, b, shape, types)                                       \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." types                \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n" \
                 : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])       \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
// FP8 has instructions from sm_89 on. Below, software rounds, and a kernel that was launched all
// the same stops at its product.
#if __CUDA_ARCH__ >= 890
#define RM_MMA_FP8(d, a, b, types) RM_MMA_F32(d, a, b, "m16n8k32", types)
#define RM_ROUND_FP8X2(format)                                                                  \
    std::uint16_t packed;                                                                       \
    asm("cvt.rn.satfinite." #format "x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low)); \
    return packed
#else
#define RM_MMA_FP8(d, a, b, types) __trap()
#define RM_ROUND_FP8X2(format) return round_##format(low) | round_##format(high) << 8
#endif
SIMT_FN void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    RM_MMA_F32(d, a, b, "m16n8k16", "bf16.bf16");
}
SIMT_FN void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    RM_MMA_FP8(d, a, b, "e4m3.e4m3");
}
SIMT_FN void mma_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    RM_MMA_FP8(d, a, b, "e5m2.e5m2");
}
SIMT_FN void mma_e4m3_e5m2(float (&d)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
    RM_MMA_FP8(d, a, b, "e4m3.e5m2");
}
SIMT_FN void mma_e5m2_e4m3(float (&d)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
    RM_MMA_FP8(d, a, b, "e5m2.e4m3");
}
SIMT_FN void mma_s8(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <typename T>
SIMT_FN void atomic_add(T* p, T value) {
    atomicAdd(p, value);
}
SIMT_FN void atomic_max(int* p, int value) {
    atomicMax(p, value);
}

SIMT_FN std::uint32_t round_bf16x2(float low, float high) {
    std::uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

SIMT_FN std::uint32_t round_e4m3x2(float low, float high) {
    RM_ROUND_FP8X2(e4m3);
}
SIMT_FN std::uint32_t round_e5m2x2(float low, float high) {
    RM_ROUND_FP8X2(e5m2);
}
#undef RM_MMA_F32
#undef RM_MMA_FP8
#undef RM_ROUND_FP8X2

SIMT_FN float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace rm::simt
