#include "kernels/simt/emulator.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/format.h"
#include "kernels/simt/block.h"

namespace rm::simt {
namespace {

thread_local Block* current = nullptr;

constexpr int kWarp = 32;

std::string short_name(const Place& place) {
    const std::string file = place.file;
    return format("{}:{}", file.substr(file.rfind('/') + 1), place.line);
}

}  // namespace

Block& current_block() {
    if (current == nullptr) throw EmulatorError("a device function was called outside a kernel");
    return *current;
}

Block::Block(Extent grid, int num_threads, const std::function<void(void*)>& body)
    : grid_(grid),
      body_(body),
      threads_(static_cast<std::size_t>(num_threads)),
      warps_(static_cast<std::size_t>(num_threads / kWarp)) {
    for (int i = 0; i < num_threads; ++i)
        threads_[static_cast<std::size_t>(i)].index = i;
}

void Block::entry() {
    Block& block = *current;
    block.running_->fiber.arrived();
    try {
        block.body_(block.shared_);
    } catch (...) {
        if (!block.error_) block.error_ = std::current_exception();
    }
    block.running_->wait = Wait::done;
    block.running_->fiber.leave_for_ever();
}

void Block::run(Extent at, void* shared, const Emulation& emulation) {
    at_ = at;
    shared_ = shared;
    arrived_ = 0;
    for (Thread& thread : threads_) {
        thread.wait = Wait::none;
        thread.open.clear();
        thread.groups.clear();
        thread.fiber.start(&Block::entry);
    }
    for (Warp& warp : warps_)
        warp.arrived = 0;
    current = this;
    try {
        schedule(emulation);
    } catch (...) {
        current = nullptr;
        throw;
    }
    current = nullptr;
}

bool Block::run_warp(std::size_t warp, bool shuffled, std::mt19937_64& random) {
    std::array<int, kWarp> order;
    for (int i = 0; i < kWarp; ++i)
        order[static_cast<std::size_t>(i)] = i;
    if (shuffled) std::shuffle(order.begin(), order.end(), random);
    bool ran = false;
    for (const int lane : order) {
        Thread& thread = threads_[warp * kWarp + static_cast<std::size_t>(lane)];
        if (thread.wait != Wait::none) continue;
        ran = true;
        running_ = &thread;
        thread.fiber.enter();
        running_ = nullptr;
        if (error_) std::rethrow_exception(error_);
        if (thread.wait == Wait::done) --num_alive_;
    }
    return ran;
}

void Block::schedule(const Emulation& emulation) {
    const bool greedy = emulation.seed != 0;
    const auto id = static_cast<std::uint64_t>((at_.z * grid_.y + at_.y) * grid_.x + at_.x);
    std::mt19937_64 random(emulation.seed ^ (0x9e3779b97f4a7c15ull * (id + 1)));
    std::vector<std::size_t> priority(warps_.size());
    for (std::size_t i = 0; i < priority.size(); ++i)
        priority[i] = i;
    num_alive_ = static_cast<int>(threads_.size());
    while (num_alive_ > 0) {
        if (greedy && random() % 64 == 0) std::shuffle(priority.begin(), priority.end(), random);
        bool progress = false;
        for (const std::size_t warp : priority) {
            if (!run_warp(warp, greedy, random)) continue;
            progress = true;
            if (greedy) break;  // the favourite goes again before anyone else
        }
        if (!progress) throw EmulatorError(diagnosis());
    }
}

std::string Block::diagnosis() const {
    std::map<std::string, int> threads_at;
    for (const Thread& thread : threads_) {
        if (thread.wait == Wait::done) {
            ++threads_at["have exited"];
        } else {
            const bool block = thread.wait == Wait::block;
            ++threads_at[format("wait in {} at {}", block ? "sync_block" : "a warp function",
                                short_name(thread.place))];
        }
    }
    std::string text = format("block ({}, {}, {}) would hang on a GPU:", at_.x, at_.y, at_.z);
    for (const auto& [where, count] : threads_at)
        text += format("\n  {} threads {}", count, where);
    return text;
}

void Block::sync(Place place) {
    ++counts_.barriers;
    running_->place = place;
    if (++arrived_ < static_cast<int>(threads_.size())) {
        wait(Wait::block);
        return;
    }
    arrived_ = 0;
    for (Thread& thread : threads_) {
        if (thread.wait == Wait::block) thread.wait = Wait::none;
    }
}

void Block::wait(Wait what) {
    running_->wait = what;
    ++counts_.switches;
    running_->fiber.leave();
}

const Slot& Block::gather(const Slot& mine, CollectiveFn compute, const void* argument,
                          Place place) {
    Thread& thread = *running_;
    Warp& warp = warps_[static_cast<std::size_t>(thread.index / kWarp)];
    const auto lane = static_cast<std::size_t>(thread.index % kWarp);
    if (warp.arrived != 0 && (warp.place.line != place.line || warp.place.file != place.file)) {
        throw EmulatorError(format("lane {} of warp {} calls a warp function at {}, others at {}",
                                   lane, thread.index / kWarp, short_name(place),
                                   short_name(warp.place)));
    }
    const std::size_t parity = warp.generation & 1;
    warp.place = place;
    thread.place = place;
    warp.in[parity][lane] = mine;
    warp.arrived |= 1u << lane;
    if (warp.arrived != 0xffffffffu) {
        wait(Wait::warp);
        return warp.out[parity][lane];
    }
    compute(warp.in[parity].data(), warp.out[parity].data(), argument);
    warp.arrived = 0;
    ++warp.generation;
    const std::size_t first = static_cast<std::size_t>(thread.index / kWarp) * kWarp;
    for (std::size_t i = 0; i < kWarp; ++i) {
        Thread& other = threads_[first + i];
        if (other.wait == Wait::warp) other.wait = Wait::none;
    }
    return warp.out[parity][lane];
}

EmulatorCounts emulate(Extent grid, int num_threads, std::size_t shared_bytes,
                       const std::function<void(void*)>& body, const Emulation& emulation) {
    if (num_threads <= 0 || num_threads % kWarp != 0 || num_threads > 1024)
        throw EmulatorError(format("a block of {} threads; multiples of 32 to 1024", num_threads));
    constexpr std::size_t kAlign = 128;
    const std::size_t rounded = (shared_bytes / kAlign + 1) * kAlign;
    const std::unique_ptr<void, void (*)(void*)> shared(std::aligned_alloc(kAlign, rounded),
                                                        &std::free);
    if (!shared) throw std::bad_alloc();
    Block block(grid, num_threads, body);
    for (int z = 0; z < grid.z; ++z) {
        for (int y = 0; y < grid.y; ++y) {
            for (int x = 0; x < grid.x; ++x) {
                std::memset(shared.get(), 0xff, shared_bytes);
                block.run({x, y, z}, shared.get(), emulation);
            }
        }
    }
    return block.counts();
}

}  // namespace rm::simt
