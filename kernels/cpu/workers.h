#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "kernels/thread_pool.h"

namespace rm::cpu {

// The rank's threads, for ops of any stream. While one stream's op has the pool, an op of another
// stream runs on its own thread: results do not depend on the number of threads, so it may.
class Workers {
public:
    explicit Workers(int num_threads) : pool_(num_threads) {}
    int count() const { return pool_.num_threads(); }

    // fn(item, worker) for each item; `worker` in [0, count) chooses scratch of this op.
    template <typename Fn>
    void for_items(std::int64_t num_items, const Fn& fn) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (lock.owns_lock()) return pool_.parallel_for(num_items, fn);
        for (std::int64_t item = 0; item < num_items; ++item)
            fn(item, 0);
    }

    // fn(first, count, worker) for consecutive blocks of `block`, the last may be shorter.
    template <typename Fn>
    void for_blocks(std::int64_t total, std::int64_t block, const Fn& fn) {
        for_items((total + block - 1) / block, [&](std::int64_t item, int worker) {
            const std::int64_t first = item * block;
            fn(first, std::min(block, total - first), worker);
        });
    }

private:
    std::mutex mutex_;
    ThreadPool pool_;
};

}  // namespace rm::cpu
