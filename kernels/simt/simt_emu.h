#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

// simt.h on the emulator: what a kernel body calls. Outside emulate() none of it may be called.
#define SIMT_FN inline
#define SIMT_UNROLL

namespace rm::simt {

// Where in the source a body called; std::source_location needs a newer clang.
struct Place {
    const char* file = "";
    int line = 0;
    static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

int thread();
int block_x();
int block_y();
int block_z();
int grid_x();
inline int lane() {
    return thread() & 31;
}
inline int warp() {
    return thread() >> 5;
}

void sync_block(Place place = Place::here());
void sync_warp(Place place = Place::here());

namespace detail {
std::uint64_t exchange(std::uint64_t value, int from, Place place);
template <typename T>
T exchange_as(T value, int from, Place place) {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = exchange(bits, from, place);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}
}  // namespace detail

template <typename T>
T shfl(T value, int from, Place place = Place::here()) {
    return detail::exchange_as(value, from & 31, place);
}
template <typename T>
T shfl_xor(T value, int mask, Place place = Place::here()) {
    return detail::exchange_as(value, lane() ^ mask, place);
}
template <typename T>
T shfl_up(T value, int delta, Place place = Place::here()) {
    return detail::exchange_as(value, lane() >= delta ? lane() - delta : lane(), place);
}
inline int count_bits(std::uint32_t x) {
    return __builtin_popcount(x);
}
inline int lowest_bit(std::uint32_t x) {
    return __builtin_ctz(x);
}
std::uint32_t ballot(bool b, Place place = Place::here());
inline bool any(bool b, Place place = Place::here()) {
    return ballot(b, place) != 0;
}
inline bool all(bool b, Place place = Place::here()) {
    return ballot(b, place) == 0xffffffffu;
}

// The bytes land at the wait, not at the issue: until then the destination is poison, 0xff.
void cp_async_16(void* dst, const void* src, int bytes = 16, Place place = Place::here());
void cp_async_commit();
void cp_async_wait_at_most(int groups);
template <int N>
void cp_async_wait() {
    cp_async_wait_at_most(N);
}

void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, Place place = Place::here());
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, Place place = Place::here());

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Place place = Place::here());
void mma_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Place place = Place::here());
void mma_e5m2(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Place place = Place::here());
void mma_s8(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
            Place place = Place::here());

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

inline float exp2(float x) {
    return std::exp2(x);
}
inline float log2(float x) {
    return std::log2(x);
}
inline float rsqrt(float x) {
    return 1 / std::sqrt(x);
}

}  // namespace rm::simt
