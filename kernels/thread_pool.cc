#include "kernels/thread_pool.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace rm {
namespace {

// Yields before sleeping: some tens of microseconds, about what waking a thread costs.
constexpr int kSpinYields = 100;
constexpr std::uint64_t kItemsMask = 0xffff'ffff;

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
    RM_CHECK(num_threads >= 1, "a pool of {} threads; it needs 1 or more", num_threads);
    for (int worker = 1; worker < num_threads; ++worker) {
        workers_.emplace_back([this, worker] { work(worker); });
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_opened_.notify_all();
    for (std::thread& thread : workers_)
        thread.join();
}

void ThreadPool::run(std::int64_t num_items, Call call, void* body) {
    RM_CHECK(num_items >= 0 && num_items <= std::numeric_limits<std::int32_t>::max(),
             "parallel_for over {} items; at most 2^31 - 1", num_items);
    RM_CHECK(!busy_.exchange(true), "a ThreadPool has one caller at a time and is not re-entrant");
    struct Release {
        std::atomic<bool>& busy;
        ~Release() { busy = false; }
    } const release{busy_};
    if (workers_.empty() || num_items <= 1) {
        for (std::int64_t item = 0; item < num_items; ++item)
            call(body, item, 0);
        return;
    }
    publish(num_items, call, body);
    while (run_one_item(0)) {
    }
    wait_until_done(num_items);
    rethrow_error();
}

void ThreadPool::publish(std::int64_t num_items, Call call, void* body) {
    num_items_.store(num_items, std::memory_order_relaxed);
    call_.store(call, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    num_done_.store(0, std::memory_order_relaxed);
    const std::uint64_t job = (open_.load(std::memory_order_relaxed) >> 32) + 1;
    // Sequentially consistent with a sleeper's count and its later look at open_: one sees the
    // other.
    open_.store(job << 32 | static_cast<std::uint64_t>(num_items));
    if (num_sleeping_.load() == 0) return;
    { const std::lock_guard lock(mutex_); }
    work_opened_.notify_all();
}

// Claims and runs one item; false when none is left to claim.
bool ThreadPool::run_one_item(int worker) {
    std::uint64_t open = open_.load(std::memory_order_acquire);
    std::int64_t num_items = 0;
    Call call = nullptr;
    void* body = nullptr;
    do {
        if ((open & kItemsMask) == 0) return false;
        num_items = num_items_.load(std::memory_order_relaxed);
        call = call_.load(std::memory_order_relaxed);
        body = body_.load(std::memory_order_relaxed);
    } while (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    const std::int64_t item = num_items - static_cast<std::int64_t>(open & kItemsMask);
    try {
        call(body, item, worker);
    } catch (...) {
        keep_error(item);
    }
    if (num_done_.fetch_add(1) + 1 == num_items && caller_sleeping_.load()) {
        { const std::lock_guard lock(mutex_); }
        all_done_.notify_all();
    }
    return true;
}

void ThreadPool::work(int worker) {
    while (!stopping_) {
        for (int spin = 0; spin < kSpinYields && !work_is_open() && !stopping_; ++spin) {
            std::this_thread::yield();
        }
        if (!run_one_item(worker)) sleep_until_work();
    }
}

bool ThreadPool::work_is_open() const {
    return (open_.load() & kItemsMask) != 0;
}

void ThreadPool::sleep_until_work() {
    std::unique_lock lock(mutex_);
    ++num_sleeping_;
    work_opened_.wait(lock, [&] { return work_is_open() || stopping_; });
    --num_sleeping_;
}

void ThreadPool::wait_until_done(std::int64_t num_items) {
    for (int spin = 0; spin < kSpinYields; ++spin) {
        if (num_done_.load() == num_items) return;
        std::this_thread::yield();
    }
    std::unique_lock lock(mutex_);
    caller_sleeping_ = true;
    all_done_.wait(lock, [&] { return num_done_.load() == num_items; });
    caller_sleeping_ = false;
}

void ThreadPool::keep_error(std::int64_t item) {
    const std::lock_guard lock(mutex_);
    if (error_ && error_item_ < item) return;
    error_ = std::current_exception();
    error_item_ = item;
}

void ThreadPool::rethrow_error() {
    std::exception_ptr error;
    {
        const std::lock_guard lock(mutex_);
        error = std::exchange(error_, nullptr);
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace rm
