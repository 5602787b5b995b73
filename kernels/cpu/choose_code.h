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
// `best` follows from the kind of CPU alone (decision 4): every rank on such a CPU, a run
// that resumes, and a planner give the same bits and ask for the same workspace. A race at the
// start of each process would not: where two codes are nearly as fast, a busy machine decides it.
CodeChoice choose_code(CpuCode code, DType compute);

}  // namespace rm::cpu
