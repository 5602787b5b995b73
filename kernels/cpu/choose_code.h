#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/gemm.h"

namespace rm::cpu {

// The code that multiplies.
struct CodeChoice {
    const simd::Loops* loops = nullptr;
    bool pairs = false;    // bf16 in pairs or tiles, not widened to f32
    bool library = false;  // packed products by oneDNN, not by our loops

    const simd::ProductLoops& products(DType compute) const;
    const simd::AttentionLoops& attention(DType compute) const;
    std::unique_ptr<Gemm> make_gemm(DType compute) const;
    std::string describe(DType compute) const;  // "simd_amx, products of bf16 by oneDNN"
};

// Null loops when this CPU or build cannot run the code.
//
// `best` is measured once per process: the code known to be good on such a CPU, unless another
// multiplies faster by a quarter. The margin keeps the choice stable: a process that resumes a run
// chooses, even on a busy machine, what the earlier process chose, and gives the same bits.
CodeChoice choose_code(CpuCode code, DType compute);

}  // namespace rm::cpu
