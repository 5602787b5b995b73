#pragma once

#include <memory>
#include <string>

#include "kernels/kernels.h"

namespace rm {

// Which code runs. `best` is the fastest known on this kind of CPU. `onednn` takes the matrix
// products of that library, on CPUs with AVX-512 BF16 also those of bf16. The others are our own
// products and loops at one width, `own_amx` with products of bf16 in AMX tiles, `own_tile_model`
// with a model of these tiles that runs everywhere: for tests and comparisons. Each gives its own
// bits.
enum class CpuCode {
    best,
    onednn,
    own_amx,
    own_avx512_bf16,
    own_avx512,
    own_avx2,
    own_base,
    own_tile_model
};
bool can_run(CpuCode code);  // on this CPU, with this build

struct CpuOptions {
    int num_threads = 1;  // of this rank's pool; results do not depend on it
    CpuCode code = CpuCode::best;
    DType compute = DType::f32;  // f32 or bf16; accum and master are f32 always
    // Where tensors live; tests take one that the host cannot touch.
    std::unique_ptr<Device> (*make_device)() = make_host_device;
};

// The CPU backend. One per rank; owns its thread pool and its host device. With bf16 compute,
// weights are rounded when they are prepared, and every product and sum is f32; where the CPU has
// no bf16 products the same numbers are multiplied in f32.
std::unique_ptr<Kernels> make_cpu_kernels(const CpuOptions& options);

// Names the code that would multiply: "simd_amx, products of bf16 by our loops".
std::string describe_cpu_code(const CpuOptions& options);

// Matrix-product rate of one thread pool of this size, FLOP/s: what MFU is measured against. The
// fastest of repeated packed GEMMs, oneDNN's too where the code is `best`; takes a second each.
double measure_cpu_peak_flops(const CpuOptions& options);

}  // namespace rm
