#include "kernels/simt/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "kernels/simt/sanitizers.h"

#if !defined(__x86_64__)
#error "the emulator's stack switch is written for x86-64"
#endif

extern "C" void rm_simt_switch(void** save_sp, void* load_sp);
asm(R"(.text
.globl rm_simt_switch
.type rm_simt_switch,@function
rm_simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size rm_simt_switch,.-rm_simt_switch
)");

namespace rm::simt {
namespace {

// The fiber that runs, and, just after a switch, the one that ran before.
constinit thread_local Fiber* running = nullptr;
constinit thread_local Fiber* previous = nullptr;

#ifdef RM_TSAN
// A fresh allocation forgets who touched the memory before, which makes the threads of two blocks
// strangers to each other. Called by the scheduler, under Quiet.
void* make_stack() {
    void* stack = nullptr;
    if (posix_memalign(&stack, 4096, Fiber::kStackBytes) != 0) throw std::bad_alloc();
    return stack;
}
void free_stack(void* stack) {
    std::free(stack);
}
#else
void* make_stack() {
    constexpr std::size_t kGuardBytes = 4096;
    void* stack = mmap(nullptr, Fiber::kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack, kGuardBytes, PROT_NONE);
    return stack;
}
void free_stack(void* stack) {
    munmap(stack, Fiber::kStackBytes);
}
#endif

}  // namespace

Fiber::~Fiber() {
    if (stack_ == nullptr) return;
    const Quiet quiet;
    free_stack(stack_);
#ifdef RM_TSAN
    __tsan_destroy_fiber(race_context_);
#endif
}

void Fiber::adopt() {
    running = this;
#ifdef RM_TSAN
    race_context_ = __tsan_get_current_fiber();
#endif
}

void Fiber::start(void (*entry)(), int colour) {
#ifdef RM_TSAN
    if (stack_ != nullptr) {
        free_stack(stack_);
        __tsan_destroy_fiber(race_context_);
    }
    stack_ = nullptr;
    race_context_ = __tsan_create_fiber(0);
#endif
    if (stack_ == nullptr) stack_ = make_stack();
    bottom_ = stack_;
    size_ = kStackBytes;
    constexpr int kColours = 32, kColourBytes = 9 * 64;
    char* end = static_cast<char*>(stack_) + kStackBytes - colour % kColours * kColourBytes;
    void** top = reinterpret_cast<void**>(end);
    *--top = nullptr;  // the stack pointer is 16-byte aligned at entry, as after a call
    *--top = reinterpret_cast<void*>(entry);
    for (int saved_register = 0; saved_register < 6; ++saved_register)
        *--top = nullptr;
    stack_pointer_ = top;
    fake_stack_ = nullptr;
}

void Fiber::switch_to(Fiber& to) {
    previous = this;
    running = &to;
#ifdef RM_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, to.bottom_, to.size_);
#endif
#ifdef RM_TSAN
    __tsan_switch_to_fiber(to.race_context_, __tsan_switch_to_fiber_no_sync);
#endif
    rm_simt_switch(&stack_pointer_, to.stack_pointer_);
    finish_switch();
}

void Fiber::end_in(Fiber& to) {
    previous = this;
    running = &to;
#ifdef RM_ASAN
    __sanitizer_start_switch_fiber(nullptr, to.bottom_, to.size_);
#endif
#ifdef RM_TSAN
    __tsan_switch_to_fiber(to.race_context_, __tsan_switch_to_fiber_no_sync);
#endif
    rm_simt_switch(&stack_pointer_, to.stack_pointer_);
    __builtin_trap();
}

void Fiber::arrived() {
    running->finish_switch();
}

// The address sanitizer tells where the stack lies that was left: for an adopted one the only way
// to know.
void Fiber::finish_switch() {
#ifdef RM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &previous->bottom_, &previous->size_);
#endif
}

}  // namespace rm::simt
