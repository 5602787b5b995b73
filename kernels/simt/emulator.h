#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

// Runs the blocks of a CUDA grid on one OS thread, every CUDA thread a fiber. Tests only; what it
// proves and what it does not: docs/kernels/emulator.md.
namespace rm::simt {

// The size of a grid, in blocks; or a block's place in it.
struct Extent {
    int x = 1;
    int y = 1;
    int z = 1;
};

// An error of a kernel that a GPU would not forgive: a barrier that not all threads reach, a warp
// function called in two places, a misaligned copy, a copy without a wait for it. Names block,
// threads and source lines.
class EmulatorError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Emulation {
    // 0: lock step, warps and lanes in order. Otherwise lanes run in a random order and warps get
    // random priorities, redrawn now and then; the favourite runs as far as it can before all
    // others: so one warp laps another where a barrier is missing.
    std::uint64_t seed = 0;
};

// Counts of a run, for tests and diagnosis.
struct EmulatorCounts {
    std::int64_t switches = 0;
    std::int64_t barriers = 0;  // of blocks, counted once per block
    std::int64_t products = 0;  // mma instructions, counted once per warp
};

// `body(shared)` is run by every thread of every block of `grid`, one block after the other;
// `shared` is the block's own memory of exactly `shared_bytes`, 128-byte aligned, all bytes 0xff
// (NaN as bf16 and as f32). The first exception of a body ends the run and is rethrown when the
// other threads of the block have been unwound.
EmulatorCounts emulate(Extent grid, int num_threads, std::size_t shared_bytes,
                       const std::function<void(void*)>& body, const Emulation& emulation);

}  // namespace rm::simt
