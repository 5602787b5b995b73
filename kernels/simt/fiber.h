#pragma once

#include <cstddef>

// A stack of its own and the switch between stacks: 14 instructions, no system call (System V
// x86-64). The sanitizers are told of every switch; a switch orders no memory.
namespace rm::simt {

class Fiber {
public:
    Fiber() = default;
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber();

    void adopt();  // becomes the stack that calls
    // `entry` runs at the first switch to it and must never return. Fibers of different colours do
    // not compete for the same lines of the cache.
    void start(void (*entry)(), int colour);
    // From this fiber, which is running, to another; returns when someone switches back.
    void switch_to(Fiber& to);
    [[noreturn]] void end_in(Fiber& to);  // the last switch of a fiber
    static void arrived();                // the first thing that a fiber's entry does

    // The lowest page is a guard: a body that needs more stack crashes there.
#ifdef RM_TSAN
    static constexpr std::size_t kStackBytes = 64 * 1024;  // that it has to forget, block by block
#else
    static constexpr std::size_t kStackBytes = 256 * 1024;
#endif

private:
    void finish_switch();

    void* stack_ = nullptr;  // reused from start to start; null when adopted
    void* stack_pointer_ = nullptr;
    void* fake_stack_ = nullptr;    // the address sanitizer's
    const void* bottom_ = nullptr;  // of the stack, as the address sanitizer knows it
    std::size_t size_ = 0;
    [[maybe_unused]] void* race_context_ = nullptr;  // the thread sanitizer's
};

}  // namespace rm::simt
