#pragma once

// The only door between a kernel body and the machine. A body is written once against this header:
// nvcc compiles it to PTX (simt_cuda.cuh, one wrapper per instruction), any C++ compiler compiles
// it for the emulator (simt_emu.h), which runs every CUDA thread of a block as a fiber and plays
// seeded schedules.
//
// Both give SIMT_FN (before every device function), SIMT_UNROLL (before a loop that must be
// unrolled to keep its arrays in registers) and namespace rm::simt:
//   thread() lane() warp()                       place in the block (blocks are one-dimensional)
//   block_x() block_y() block_z() grid_x()       place in the grid
//   sync_block() sync_warp()                     barriers; nothing else orders memory
//   shfl(v, lane) shfl_xor(v, mask) shfl_up(v, n)  T of 4 or 8 bytes
//   count_bits(x) lowest_bit(x)                  of 32 bits; the lowest of none is undefined
//   ballot(b)                                    votes of the whole warp
//   cp_async_16(to, from, bytes)                 16 bytes global -> shared, asynchronous; the first
//                                                `bytes` (0 to 16) are read, the others are zero;
//                                                both addresses 16-byte aligned
//   cp_async_commit() cp_async_wait<N>()         groups of the calling thread; what is copied must
//                                                have been waited for when the thread ends
//   ldmatrix_x4(r, row) ldmatrix_x4_trans(r, row)  four 8x8 tiles of 16-bit elements; 16-byte
//                                                aligned rows in shared memory
//   mma_bf16(d, a, b)                            d += a b; m16n8k16, fp32 sums
//   mma_e4m3(d, a, b) mma_e5m2(d, a, b)          m16n8k32, fp32 sums; from sm_89 on
//   mma_e4m3_e5m2(d, a, b) mma_e5m2_e4m3(d, a, b)  likewise, a in the first format, b in the second
//   mma_s8(d, a, b)                              m16n8k32, int8 with 32-bit sums
//   atomic_add(p, v) atomic_max(p, v)            global or shared memory, relaxed
//   round_bf16x2(low, high)                      two floats to a register of two bf16, to nearest
//                                                even; every NaN becomes 0x7fff
//   round_e4m3x2(low, high) round_e5m2x2(low, high)  two floats to 16 bits of two FP8, to nearest
//                                                even, saturating; every NaN becomes 0x7f
//   exp2(x)                                      fp32; the device's is approximate (2 ulp)
// All 32 lanes of a warp must call warp functions together, at the same place in the source, and
// all threads of a block the same sync_block().
#if defined(__CUDACC__)
#include "kernels/simt/simt_cuda.cuh"
#else
#include "kernels/simt/simt_emu.h"
#endif
