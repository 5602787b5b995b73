#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/emulator.h"

// simt.h on the emulator: what a kernel body calls, only inside emulate(). The accesses to the
// kernel's memory are made here, in the body's own translation unit, where the sanitizers see them;
// the bookkeeping is in simt_emu.cc, where the thread sanitizer does not.
#define SIMT_FN inline
#define SIMT_UNROLL

#include "kernels/simt/round_fp8.h"  // needs SIMT_FN

namespace rm::simt {

// The source line of a body's call; std::source_location needs a newer clang.
struct Place {
    const char* file = "";
    const char* function = "";
    int line = 0;
    static constexpr Place here(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                int line = __builtin_LINE()) {
        return {file, function, line};
    }
};

namespace detail {

// The thread that runs, kept by the scheduler.
struct Running {
    int thread = 0;
    Extent block;
    Extent grid;
    const unsigned char* shared = nullptr;  // the block's memory
    std::size_t shared_bytes = 0;
};
inline constinit thread_local Running running;

[[noreturn]] void refuse(const char* what, const char* why, const Place& place);

// 16 bytes at p, aligned, lie in shared memory.
inline void check_shared(const char* what, const void* p, const Place& place) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto offset = address - reinterpret_cast<std::uintptr_t>(running.shared);
    if (address % 16 != 0) refuse(what, "a shared address that is not 16-byte aligned", place);
    if (offset >= running.shared_bytes || running.shared_bytes - offset < 16)
        refuse(what, "an address outside the block's shared memory", place);
}

struct AsyncCopy {
    void* to = nullptr;
    const void* from = nullptr;
    int bytes = 0;
    std::int64_t group = 0;  // of the thread's groups, in order of commit
    Place place;
};
void issue(const AsyncCopy& copy);
// The next copy that a wait for all but `groups` groups must see; false when there is none.
bool next_landing(int groups, AsyncCopy& copy);

struct Row16 {
    std::uint16_t elements[8];
};
inline Row16 read_row(const void* row, const Place& place) {
    check_shared("ldmatrix", row, place);
    Row16 mine;
    std::memcpy(&mine, row, sizeof(mine));
    return mine;
}
void exchange_tiles(std::uint32_t (&r)[4], const Row16& row, bool transposed, const Place& place);
std::uint64_t exchange(const char* what, std::uint64_t value, int from, const Place& place);

template <typename T>
T exchange_as(const char* what, T value, int from, const Place& place) {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = exchange(what, bits, from, place);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace detail

inline int thread() {
    return detail::running.thread;
}
inline int block_x() {
    return detail::running.block.x;
}
inline int block_y() {
    return detail::running.block.y;
}
inline int block_z() {
    return detail::running.block.z;
}
inline int grid_x() {
    return detail::running.grid.x;
}
inline int lane() {
    return thread() & 31;
}
inline int warp() {
    return thread() >> 5;
}

void sync_block(const Place& place = Place::here());
void sync_warp(const Place& place = Place::here());

template <typename T>
T shfl(T value, int from, const Place& place = Place::here()) {
    return detail::exchange_as("shfl", value, from & 31, place);
}
template <typename T>
T shfl_xor(T value, int mask, const Place& place = Place::here()) {
    return detail::exchange_as("shfl_xor", value, (lane() ^ mask) & 31, place);
}
template <typename T>
T shfl_up(T value, int delta, const Place& place = Place::here()) {
    return detail::exchange_as("shfl_up", value, lane() >= delta ? lane() - delta : lane(), place);
}
inline int count_bits(std::uint32_t x) {
    return __builtin_popcount(x);
}
inline int lowest_bit(std::uint32_t x) {
    return __builtin_ctz(x);
}
std::uint32_t ballot(bool b, const Place& place = Place::here());

// The bytes land at the wait, not at the issue: until then the destination is poison, 0xff.
inline void cp_async_16(void* to, const void* from, int bytes = 16,
                        const Place& place = Place::here()) {
    detail::check_shared("cp_async_16", to, place);
    detail::issue({to, from, bytes, 0, place});
    std::memset(to, 0xff, 16);
}
void cp_async_commit();
template <int N>
void cp_async_wait() {
    detail::AsyncCopy copy;
    while (detail::next_landing(N, copy)) {
        unsigned char landed[16] = {};
        if (copy.bytes > 0) std::memcpy(landed, copy.from, static_cast<std::size_t>(copy.bytes));
        std::memcpy(copy.to, landed, sizeof(landed));
    }
}

inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row,
                        const Place& place = Place::here()) {
    detail::exchange_tiles(r, detail::read_row(row, place), false, place);
}
inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row,
                              const Place& place = Place::here()) {
    detail::exchange_tiles(r, detail::read_row(row, place), true, place);
}

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place = Place::here());
void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place = Place::here());
void mma_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place = Place::here());
void mma_e4m3_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                   const Place& place = Place::here());
void mma_e5m2_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                   const Place& place = Place::here());
void mma_s8(std::int32_t (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
            const Place& place = Place::here());

template <typename T>
void atomic_add(T* p, T value) {
    if constexpr (std::is_integral_v<T>) {
        __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
    } else {
        T old;
        __atomic_load(p, &old, __ATOMIC_RELAXED);
        T sum = old + value;
        while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            sum = old + value;
    }
}
inline void atomic_max(int* p, int value) {
    int old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

// NaN becomes 0x7fff, as on the device.
inline std::uint32_t round_bf16x2(float low, float high) {
    const auto round = [](float x) -> std::uint32_t {
        std::uint32_t bits;
        std::memcpy(&bits, &x, sizeof(bits));
        return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    };
    return round(low) | round(high) << 16;
}
inline std::uint32_t round_e4m3x2(float low, float high) {
    return round_e4m3(low) | round_e4m3(high) << 8;
}
inline std::uint32_t round_e5m2x2(float low, float high) {
    return round_e5m2(low) | round_e5m2(high) << 8;
}

inline float exp2(float x) {
    return std::exp2(x);
}

}  // namespace rm::simt
