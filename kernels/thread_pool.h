#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace rm {

// The threads of one rank. The calling thread is one of them, so a pool of 1 starts none. One
// caller at a time; not re-entrant from inside an item (both are CheckErrors).
class ThreadPool {
public:
    explicit ThreadPool(int num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls fn(item) or fn(item, worker) once for each item in [0, num_items) and returns when all
    // are done. Any thread may run an item at any time: items must be independent and
    // `worker`, in [0, num_threads), may only choose scratch memory; then results do not depend on
    // the number of threads. Rethrows the exception of the lowest item that threw; whether later
    // items ran is open.
    template <typename Fn>
    void parallel_for(std::int64_t num_items, Fn&& fn) {
        using Body = std::remove_reference_t<Fn>;
        const auto call = [](void* body, std::int64_t item, int worker) {
            if constexpr (std::is_invocable_v<Body&, std::int64_t, int>) {
                (*static_cast<Body*>(body))(item, worker);
            } else {
                (*static_cast<Body*>(body))(item);
            }
        };
        run(num_items, call, const_cast<std::remove_const_t<Body>*>(&fn));
    }

private:
    using Call = void (*)(void* body, std::int64_t item, int worker);

    void run(std::int64_t num_items, Call call, void* body);
    void publish(std::int64_t num_items, Call call, void* body);
    bool run_one_item(int worker);
    void work(int worker);
    bool work_is_open() const;
    void sleep_until_work();
    void wait_until_done(std::int64_t num_items);
    void keep_error(std::int64_t item);
    void rethrow_error();

    // Job number (high 32 bits) and items not yet claimed (low 32 bits). Claiming an item is one
    // compare-and-swap here; it can only succeed while its job is unfinished, and the job's fields
    // change only between jobs, so fields read before a successful claim belong to that job.
    alignas(64) std::atomic<std::uint64_t> open_{0};
    std::atomic<std::int64_t> num_items_{0};
    std::atomic<Call> call_{nullptr};
    std::atomic<void*> body_{nullptr};
    alignas(64) std::atomic<std::int64_t> num_done_{0};

    std::atomic<bool> busy_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<int> num_sleeping_{0};
    std::atomic<bool> caller_sleeping_{false};
    std::mutex mutex_;  // no working thread holds it; guards sleeping and the error
    std::condition_variable work_opened_;
    std::condition_variable all_done_;
    std::exception_ptr error_;
    std::int64_t error_item_ = 0;
    std::vector<std::thread> workers_;
};

}  // namespace rm
