#include "kernels/simt/fiber.h"

#include <sys/mman.h>

#include <new>

#if defined(__has_feature)
#define RM_HAS_FEATURE(x) __has_feature(x)
#else
#define RM_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || RM_HAS_FEATURE(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define RM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) || RM_HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define RM_TSAN 1
#endif

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

void* make_stack() {
    void* stack = mmap(nullptr, Fiber::kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    return stack;
}

}  // namespace

Fiber::~Fiber() {
    if (stack_ != nullptr) munmap(stack_, kStackBytes);
#ifdef RM_TSAN
    if (race_context_ != nullptr) __tsan_destroy_fiber(race_context_);
#endif
}

void Fiber::start(void (*entry)()) {
    if (stack_ == nullptr) stack_ = make_stack();
    void** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + kStackBytes);
    *--top = nullptr;  // the stack pointer is 16-byte aligned at entry, as after a call
    *--top = reinterpret_cast<void*>(entry);
    for (int saved_register = 0; saved_register < 6; ++saved_register)
        *--top = nullptr;
    stack_pointer_ = top;
    fake_stack_ = nullptr;
#ifdef RM_TSAN
    if (race_context_ != nullptr) __tsan_destroy_fiber(race_context_);
    race_context_ = __tsan_create_fiber(0);
#endif
}

// Switches carry no happens-before: only the barriers and warp functions of the emulator do.
void Fiber::enter() {
#ifdef RM_ASAN
    __sanitizer_start_switch_fiber(&home_fake_stack_, stack_, kStackBytes);
#endif
#ifdef RM_TSAN
    home_race_context_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(race_context_, __tsan_switch_to_fiber_no_sync);
#endif
    rm_simt_switch(&home_pointer_, stack_pointer_);
#ifdef RM_ASAN
    __sanitizer_finish_switch_fiber(home_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#ifdef RM_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, home_bottom_, home_size_);
#endif
#ifdef RM_TSAN
    __tsan_switch_to_fiber(home_race_context_, __tsan_switch_to_fiber_no_sync);
#endif
    rm_simt_switch(&stack_pointer_, home_pointer_);
    arrived();
}

void Fiber::arrived() {
#ifdef RM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &home_bottom_, &home_size_);
#endif
}

void Fiber::leave_for_ever() {
#ifdef RM_ASAN
    __sanitizer_start_switch_fiber(nullptr, home_bottom_, home_size_);
#endif
#ifdef RM_TSAN
    __tsan_switch_to_fiber(home_race_context_, __tsan_switch_to_fiber_no_sync);
#endif
    rm_simt_switch(&stack_pointer_, home_pointer_);
    __builtin_trap();
}

}  // namespace rm::simt
