#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/fp8/blocks.h"
#include "tests/kernels/simt/seeds.h"

// The cast with scales of blocks on the emulator, on every seed: bit for bit what the host finds
// for each block.
namespace rm {
namespace {

std::size_t place(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

// A matrix and what it is rounded to with a scale for each block of height x width.
struct Rounded {
    Rounded(std::int64_t num_rows, std::int64_t num_columns, std::int64_t block_height)
        : rows(num_rows),
          columns(num_columns),
          height(block_height),
          codes(place(rows * columns), 0xee),
          scales(place((rows + height - 1) / height * fp8_blocks(columns)), -1) {}

    // number(row, column)
    template <typename Number>
    void fill(Fp8 format, const Number& number) {
        std::fill(scales.begin(), scales.end(), 0.0f);
        for (std::int64_t i = 0; i < rows * columns; ++i)
            scale_of(i) = std::max(scale_of(i), std::fabs(number(i / columns, i % columns)));
        for (float& scale : scales)
            scale = 1 / fp8_scale(format, scale);
        for (std::int64_t i = 0; i < rows * columns; ++i)
            codes[place(i)] = to_fp8(format, number(i / columns, i % columns) / scale_of(i));
    }
    float& scale_of(std::int64_t i) {
        const std::int64_t row = i / columns / height, column = i % columns / kFp8Block;
        return scales[place(row * fp8_blocks(columns) + column)];
    }
    Fp8Matrix view(Fp8 format) {
        const std::int64_t across = fp8_blocks(columns);
        return {{codes.data(), DType::u8, {rows, columns}},
                {scales.data(), DType::f32, {std::ssize(scales) / across, across}},
                format};
    }
    bool operator==(const Rounded&) const = default;

    std::int64_t rows, columns, height;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
};

class BlockCast : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
protected:
    const std::int64_t T = GetParam().first, C = GetParam().second;

    BlockCast() {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (std::int64_t i = 0; i < T * C; ++i)
            x_.push_back(to_bf16(std::exp(3 * normal(random)) * normal(random)));
        for (const Bf16 number : x_)
            wide_.push_back(from_bf16(number));
    }
    // Turned around, with zeros behind the last row.
    auto number_of(bool turned) const {
        return [this, turned](std::int64_t row, std::int64_t column) {
            if (turned) std::swap(row, column);
            return row < T ? wide_[place(row * C + column)] : 0.0f;
        };
    }
    TensorView narrow() { return {x_.data(), DType::bf16, {T, C}}; }
    TensorView wide() { return {wide_.data(), DType::f32, {T, C}}; }
    // run(where), on every seed.
    template <typename Run>
    void on_every_seed(const Run& run) {
        for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
            SCOPED_TRACE(seed);
            const auto device = make_host_device();
            const auto stream = device->make_stream("cast");
            const GpuProfile profile;
            run({.stream = *stream, .profile = profile, .emulation = {seed}}, *stream);
        }
    }

    std::vector<Bf16> x_;
    std::vector<float> wide_;
};

TEST_P(BlockCast, OfActivationsRoundsLinesOfBothOrientations) {
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
        Rounded rows(T, C, 1), columns(C, padded_tokens(T), 1);
        rows.fill(format, number_of(false));
        columns.fill(format, number_of(true));
        on_every_seed([&](const Launch& where, Stream& stream) {
            Rounded got(T, C, 1), turned(C, padded_tokens(T), 1);
            std::vector<float> amax(1, -1);
            cuda::quantize_blocks({.x = narrow(),
                                   .rows = got.view(format),
                                   .columns = turned.view(format),
                                   .amax = {amax.data(), DType::f32, {1}},
                                   .scaling = Scaling::blocks},
                                  where);
            stream.synchronize();
            EXPECT_EQ(got, rows);
            EXPECT_EQ(turned, columns);
            const auto smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
            EXPECT_EQ(amax[0], std::fabs(*std::max_element(wide_.begin(), wide_.end(), smaller)));
        });
    }
}

TEST_P(BlockCast, OfAWeightRoundsSquares) {
    if (T % kFp8Align != 0) return;
    Rounded plain(T, C, kFp8Block), turned(C, T, kFp8Block);
    plain.fill(Fp8::e4m3, number_of(false));
    turned.fill(Fp8::e4m3, number_of(true));
    for (const TensorView& weight : {narrow(), wide()}) {
        on_every_seed([&](const Launch& where, Stream& stream) {
            Rounded got(T, C, kFp8Block), other(C, T, kFp8Block);
            cuda::round_weight_blocks(weight, got.view(Fp8::e4m3), other.view(Fp8::e4m3), where);
            stream.synchronize();
            EXPECT_EQ(got, plain);
            EXPECT_EQ(other, turned);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Fp8, BlockCast,
                         ::testing::Values(std::pair{1, 16}, std::pair{128, 128},
                                           std::pair{144, 272}, std::pair{130, 144}),
                         [](const auto& info) {
                             return std::to_string(info.param.first) + "x" +
                                    std::to_string(info.param.second);
                         });

}  // namespace
}  // namespace rm
