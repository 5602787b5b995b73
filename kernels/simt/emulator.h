#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

// Runs the blocks of a CUDA grid on one OS thread, every CUDA thread a fiber. Tests only. A barrier
// that some threads never reach, a warp function called in two places, a misaligned copy is an
// EmulatorError that names block, threads and source lines; memory errors are the address
// sanitizer's, races the thread sanitizer's.
namespace rm::simt {

class EmulatorError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Extent {
    int x = 1;
    int y = 1;
    int z = 1;
};

struct Emulation {
    // 0: lock step, lanes and warps in order. Otherwise lanes are shuffled and warps get random
    // priorities, redrawn now and then; the favourite runs as far as it can before anyone else: the
    // adversary that makes one warp lap another where a barrier is missing.
    std::uint64_t seed = 0;
};

// What a run did, for tests and diagnosis.
struct EmulatorCounts {
    std::int64_t switches = 0;
    std::int64_t barriers = 0;
    std::int64_t products = 0;  // mma instructions
};

// `body(shared)` is run by every thread of every block of `grid`; `shared` is the block's own
// memory of `shared_bytes`, 128-byte aligned and 0xff-filled before each block.
EmulatorCounts emulate(Extent grid, int num_threads, std::size_t shared_bytes,
                       const std::function<void(void*)>& body, const Emulation& emulation);

}  // namespace rm::simt
