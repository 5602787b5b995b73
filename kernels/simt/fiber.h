#pragma once

#include <cstddef>

// A stack of its own and the switch between stacks: 14 instructions, no system call (System V
// x86-64). The sanitizers are told of every switch.
namespace rm::simt {

class Fiber {
public:
    // Runs `entry(argument)` on a new stack at the first enter(); entry must never return.
    Fiber() = default;
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber();

    void start(void (*entry)());
    void enter();           // from the scheduler: runs the fiber until it leaves
    void arrived();         // from the fiber: the first thing it does
    void leave();           // from the fiber: back to whoever entered it
    void leave_for_ever();  // the last thing a fiber does

    static constexpr std::size_t kStackBytes = 64 * 1024;

private:
    void* stack_ = nullptr;  // reused from start to start
    void* stack_pointer_ = nullptr;
    void* home_pointer_ = nullptr;
    void* fake_stack_ = nullptr;  // address sanitizer's
    void* home_fake_stack_ = nullptr;
    const void* home_bottom_ = nullptr;
    std::size_t home_size_ = 0;
    void* race_context_ = nullptr;  // thread sanitizer's
    void* home_race_context_ = nullptr;
};

}  // namespace rm::simt
