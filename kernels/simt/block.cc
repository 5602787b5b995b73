#include "kernels/simt/block.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/format.h"

namespace rm::simt {
namespace {

constinit thread_local Block* current = nullptr;

// Stacks and queues are kept for the next block of this OS thread.
struct Pool {
    std::unique_ptr<Thread[]> threads{new Thread[kMaxThreads]};
    std::unique_ptr<Warp[]> warps{new Warp[kMaxThreads / kWarpLanes]};
};
Pool& pool() {
    static thread_local Pool pool;
    return pool;
}

// Ends waiting threads when another has failed; no caller sees it.
struct Unwound {};

bool same(const char* a, const char* b) {
    return a == b || std::strcmp(a, b) == 0;
}
bool same(const Place& a, const Place& b) {
    return a.line == b.line && same(a.file, b.file) && same(a.function, b.function);
}

std::string shown(const Place& place) {
    const std::string file = place.file;
    return format("{}:{} ({})", file.substr(file.rfind('/') + 1), place.line, place.function);
}

}  // namespace

void CopyQueue::clear() {
    copies_.clear();
    landed_ = 0;
    committed_ = 0;
}

void CopyQueue::push(const detail::AsyncCopy& copy) {
    if (copies_.size() == copies_.capacity()) {
        const Quiet quiet;
        copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(landed_));
        landed_ = 0;
        copies_.reserve(std::max<std::size_t>(16, 2 * copies_.size()));
    }
    copies_.push_back(copy);
    copies_.back().group = committed_;
}

const detail::AsyncCopy* CopyQueue::pop(int groups) {
    const detail::AsyncCopy* copy = oldest();
    if (copy == nullptr || copy->group + groups >= committed_) return nullptr;
    ++landed_;
    return copy;
}

const detail::AsyncCopy* CopyQueue::oldest() const {
    return landed_ < copies_.size() ? &copies_[landed_] : nullptr;
}

Block& current_block() {
    if (current == nullptr) throw EmulatorError("a device function was called outside a kernel");
    return *current;
}

void detail::refuse(const char* what, const char* why, const Place& place) {
    const Extent& at = running.block;
    throw EmulatorError(format("{} at {} is given {}: thread {} of block ({}, {}, {})", what,
                               shown(place), why, running.thread, at.x, at.y, at.z));
}

Block::Block(Extent grid, int num_threads, const std::function<void(void*)>& body)
    : num_threads_(num_threads), body_(body) {
    if (current != nullptr) throw EmulatorError("a kernel started another kernel");
    threads_ = pool().threads.get();
    warps_ = pool().warps.get();
    for (int i = 0; i < num_threads; ++i)
        threads_[i].index = i;
    detail::running.grid = grid;
    home_.adopt();
    launched_.release();
    current = this;
}

Block::~Block() {
    current = nullptr;
    finished_.acquire();
}

void Block::run(Extent at, void* shared, std::size_t shared_bytes, std::uint64_t seed) {
    detail::Running& place = detail::running;
    place.block = at;
    place.shared = static_cast<const unsigned char*>(shared);
    place.shared_bytes = shared_bytes;
    shared_ = shared;
    start_threads();
    const auto id = static_cast<std::uint64_t>((at.z * place.grid.y + at.y) * place.grid.x + at.x);
    std::mt19937_64 random(seed ^ (0x9e3779b97f4a7c15ull * (id + 1)));
    play(random, seed != 0);
    if (!error_) return;
    unwind();
    std::rethrow_exception(error_);
}

void Block::start_threads() {
    arrived_ = 0;
    num_alive_ = num_threads_;
    for (int i = 0; i < num_threads_; ++i) {
        threads_[i].state = State::fresh;
        threads_[i].copies.clear();
        threads_[i].fiber.start(&Block::entry, i);
    }
    for (int i = 0; i < num_threads_ / kWarpLanes; ++i) {
        warps_[i].arrived = 0;
        warps_[i].ready = 0xffffffffu;
    }
}

// The first function of every fiber. Its frame is never left, so it must not be poisoned for the
// thread that uses the stack next.
__attribute__((no_sanitize("address"))) void Block::entry() {
    Fiber::arrived();
    Block& block = *current;
    Thread& thread = *block.running_;
    block.launched_.acquire();
    try {
        block.body_(block.shared_);
        block.end_thread(thread);
    } catch (const Unwound&) {
    } catch (...) {
        if (!block.error_) block.error_ = std::current_exception();
    }
    thread.state = State::done;
    block.warp_of(thread).ready &= ~(1u << (thread.index % kWarpLanes));
    --block.num_alive_;
    block.finished_.release();
    thread.fiber.end_in(block.next_of_pass());
}

void Block::end_thread(Thread& thread) {
    const detail::AsyncCopy* copy = thread.copies.oldest();
    if (copy == nullptr) return;
    throw EmulatorError(format("thread {} of {} ends before the cp_async_16 at {} was waited for",
                               thread.index, shown(), rm::simt::shown(copy->place)));
}

void Block::play(std::mt19937_64& random, bool greedy) {
    std::vector<std::size_t> priority(static_cast<std::size_t>(num_threads_ / kWarpLanes));
    for (std::size_t i = 0; i < priority.size(); ++i)
        priority[i] = i;
    while (num_alive_ > 0 && !error_) {
        if (greedy && random() % 64 == 0) std::shuffle(priority.begin(), priority.end(), random);
        bool progress = false;
        for (const std::size_t warp : priority) {
            if (!run_warp(warp, random, greedy)) continue;
            progress = true;
            if (greedy || error_) break;  // the favourite runs again before all others
        }
        if (!progress) error_ = std::make_exception_ptr(EmulatorError(diagnosis()));
    }
}

bool Block::run_warp(std::size_t warp, std::mt19937_64& random, bool greedy) {
    pass_ = {&warps_[warp], threads_ + warp * kWarpLanes};
    if (pass_.warp->ready == 0) return false;
    if (greedy) {
        const auto drawn = static_cast<unsigned>(random());
        pass_.first = drawn % kWarpLanes;
        pass_.stride = drawn / kWarpLanes % kWarpLanes | 1;
    }
    pass_.next = 0;
    home_.switch_to(next_of_pass());
    running_ = nullptr;
    return true;
}

// The next lane of the pass that can run; the scheduler when there is none, or after an error.
Fiber& Block::next_of_pass() {
    while (pass_.next < kWarpLanes && !error_) {
        const unsigned lane = (pass_.first + pass_.stride * pass_.next++) % kWarpLanes;
        if ((pass_.warp->ready >> lane & 1) == 0) continue;
        set_running(pass_.lanes[lane]);
        return running_->fiber;
    }
    return home_;
}

void Block::set_running(Thread& thread) {
    running_ = &thread;
    thread.state = State::ready;
    detail::running.thread = thread.index;
    ++counts_.switches;
}

// Ends the threads that wait: their waits throw.
void Block::unwind() {
    unwinding_ = true;
    pass_.next = kWarpLanes;
    for (int i = 0; i < num_threads_; ++i) {
        if (threads_[i].state != State::waits) continue;
        set_running(threads_[i]);
        home_.switch_to(threads_[i].fiber);
    }
    running_ = nullptr;
}

void Block::wait(const char* what, const Place& place) {
    Thread& thread = *running_;
    thread.state = State::waits;
    thread.waits_in = what;
    thread.place = &place;
    warp_of(thread).ready &= ~(1u << (thread.index % kWarpLanes));
    thread.fiber.switch_to(next_of_pass());
    if (unwinding_) throw Unwound();
}

void Block::sync(const Place& place) {
    if (arrived_ == 0) {
        barrier_place_ = &place;
    } else if (!same(*barrier_place_, place)) {
        throw EmulatorError(format("{}: thread {} is in sync_block at {}, {} others at {}", shown(),
                                   running_->index, rm::simt::shown(place), arrived_,
                                   rm::simt::shown(*barrier_place_)));
    }
    RacePoint& point = barrier_[phase_ & 1];
    point.release();
    if (++arrived_ < num_threads_) {
        wait("sync_block", place);
    } else {
        arrived_ = 0;
        ++phase_;
        ++counts_.barriers;
        for (int i = 0; i < num_threads_ / kWarpLanes; ++i)
            warps_[i].ready = 0xffffffffu;
    }
    point.acquire();
}

// Only this warp function orders memory, as on a GPU.
void Block::sync_lanes(const Place& place) {
    Warp& warp = warp_of(*running_);
    RacePoint& point = warp.barrier[warp.generation & 1];
    point.release();
    gather<char>("sync_warp", char{}, place, [](const Slots&, Slots&) {});
    point.acquire();
}

void Block::enter(Warp& warp, const char* function, const Place& place) {
    if (warp.arrived == 0) {
        warp.function = function;
        warp.place = &place;
    } else if (!same(warp.function, function) || !same(*warp.place, place)) {
        throw EmulatorError(format("{}: thread {} is in {} at {}, others of its warp in {} at {}",
                                   shown(), running_->index, function, rm::simt::shown(place),
                                   warp.function, rm::simt::shown(*warp.place)));
    }
    warp.arrived |= 1u << (running_->index % kWarpLanes);
}

void Block::wake(Warp& warp) {
    warp.arrived = 0;
    warp.ready = 0xffffffffu;
    ++warp.generation;
}

std::string Block::shown() const {
    const Extent& at = detail::running.block;
    return format("block ({}, {}, {})", at.x, at.y, at.z);
}

std::string Block::diagnosis() const {
    std::map<std::string, int> threads_at;
    for (int i = 0; i < num_threads_; ++i) {
        const Thread& thread = threads_[i];
        if (thread.state == State::done) {
            ++threads_at["have exited"];
        } else {
            ++threads_at[format("wait in {} at {}", thread.waits_in,
                                rm::simt::shown(*thread.place))];
        }
    }
    std::string text = shown() + " cannot go on:";
    for (const auto& [where, count] : threads_at)
        text += format("\n  {} threads {}", count, where);
    return text;
}

}  // namespace rm::simt
