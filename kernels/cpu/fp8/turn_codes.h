#pragma once

#include <cstdint>
#include <cstring>

// Codes turned around, 16 x 16 at a time, in the registers of every CPU.
namespace rm::cpu {

constexpr std::int64_t kTurned = 16;
typedef std::uint8_t CodeRow __attribute__((vector_size(kTurned)));

// to[c * to_stride + r] = from[r * from_stride + c]. Four times, rows i and i + 8 become rows 2i
// and 2i + 1 by taking their bytes in turn.
inline void turn_codes(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
                       std::int64_t to_stride) {
    CodeRow rows[kTurned], next[kTurned];
    for (int i = 0; i < kTurned; ++i)
        std::memcpy(&rows[i], from + i * from_stride, sizeof(CodeRow));
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < kTurned / 2; ++i) {
            const CodeRow a = rows[i], b = rows[i + kTurned / 2];
            next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                                  22, 7, 23);
            next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                      13, 29, 14, 30, 15, 31);
        }
        std::memcpy(rows, next, sizeof(rows));
    }
    for (int i = 0; i < kTurned; ++i)
        std::memcpy(to + i * to_stride, &rows[i], sizeof(CodeRow));
}

// A matrix (rows, columns), both multiples of 16.
inline void turn_codes(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
                       std::int64_t to_stride, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; r += kTurned) {
        for (std::int64_t c = 0; c < columns; c += kTurned)
            turn_codes(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
}

}  // namespace rm::cpu
