#include "kernels/simt/emulator.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "base/format.h"
#include "kernels/simt/block.h"

namespace rm::simt {
namespace {

using SharedMemory = std::unique_ptr<void, void (*)(void*)>;

// Exactly as large as asked for, so that the address sanitizer sees the end.
SharedMemory make_shared_memory(std::size_t bytes) {
    constexpr std::size_t kAlignment = 128;
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, bytes) != 0) throw std::bad_alloc();
    std::memset(memory, 0xff, bytes);
    return {memory, &std::free};
}

}  // namespace

EmulatorCounts emulate(Extent grid, int num_threads, std::size_t shared_bytes,
                       const std::function<void(void*)>& body, const Emulation& emulation) {
    if (num_threads <= 0 || num_threads % kWarpLanes != 0 || num_threads > kMaxThreads) {
        throw EmulatorError(format("a block of {} threads; multiples of {} to {}", num_threads,
                                   kWarpLanes, kMaxThreads));
    }
    const Quiet quiet;
    Block block(grid, num_threads, body);
    for (int z = 0; z < grid.z; ++z) {
        for (int y = 0; y < grid.y; ++y) {
            for (int x = 0; x < grid.x; ++x) {
                const SharedMemory shared = make_shared_memory(shared_bytes);
                block.run({x, y, z}, shared.get(), shared_bytes, emulation.seed);
            }
        }
    }
    return block.counts();
}

}  // namespace rm::simt
