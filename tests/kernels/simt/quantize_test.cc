#include "kernels/cuda/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/bf16.h"
#include "tests/kernels/simt/seeds.h"

// Compares the launchers on the emulator with the host's loops, bit for bit, on every seed.
namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<float> draw(std::int64_t count, std::uint32_t seed, float scale = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x)
        value = normal(random);
    return x;
}
std::vector<Bf16> to_bits(const std::vector<float>& x) {
    std::vector<Bf16> bits;
    for (const float value : x)
        bits.push_back(to_bf16(value));
    return bits;
}
std::vector<float> to_values(const std::vector<Bf16>& bits) {
    std::vector<float> x;
    for (const Bf16 value : bits)
        x.push_back(from_bf16(value));
    return x;
}
float largest_of(const std::vector<float>& x) {
    float largest = 0;
    for (const float value : x)
        largest = std::max(largest, std::fabs(value));
    return largest;
}

// The output, laid out as in the memory of the emulated device.
struct Codes {
    std::vector<std::uint8_t> codes, transposed;
    float amax = 0;
    bool operator==(const Codes&) const = default;
};

struct alignas(16) Scalar {
    float value = 0;
};

std::size_t size_of(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
}

Codes on_host(const std::vector<float>& x, std::int64_t T, std::int64_t C, float scale,
              Fp8 format) {
    const std::int64_t length = (T + 15) / 16 * 16;
    Codes expected{std::vector<std::uint8_t>(size_of(T, C)),
                   std::vector<std::uint8_t>(size_of(C, length)), largest_of(x)};
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t c = 0; c < C; ++c) {
            const auto i = static_cast<std::size_t>(t * C + c);
            expected.codes[i] = to_fp8(format, x[i] * scale);
            expected.transposed[static_cast<std::size_t>(c * length + t)] = expected.codes[i];
        }
    }
    return expected;
}

class Quantize : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
protected:
    const std::int64_t T = GetParam().first, C = GetParam().second;

    static TensorView tensor(std::vector<float>& x, std::int64_t rows, std::int64_t columns) {
        return {x.data(), DType::f32, {rows, columns}};
    }
    static TensorView tensor(std::vector<Bf16>& x, std::int64_t rows, std::int64_t columns) {
        return {x.data(), DType::bf16, {rows, columns}};
    }
    static TensorView scalars(std::vector<float>& x) {
        return {x.data(), DType::f32, {static_cast<std::int64_t>(x.size())}};
    }
    static Fp8Matrix matrix(std::vector<std::uint8_t>& codes, std::int64_t rows,
                            std::int64_t columns, Scalar& scale, Fp8 format = Fp8::e4m3) {
        return {
            {codes.data(), DType::u8, {rows, columns}}, {&scale.value, DType::f32, {1}}, format};
    }
    template <typename Op>
    static void run(const Op& op, std::uint64_t seed) {
        const auto device = make_host_device();
        const auto stream = device->make_stream("quantize");
        GpuProfile profile;
        profile.num_sms = 2;  // blocks go round
        cuda::run(op, {.stream = *stream, .profile = profile, .emulation = {seed}});
        stream->synchronize();
    }

    // Returns the output of `op`. Codes start at a value that no op writes, amax at zero.
    template <typename Op>
    Codes cast(Op op, float scale, Fp8 format, std::uint64_t seed) const {
        const std::int64_t length = (T + 15) / 16 * 16;
        Codes got{std::vector<std::uint8_t>(size_of(T, C), 0xee),
                  std::vector<std::uint8_t>(size_of(C, length), 0xee)};
        Scalar inverse{1 / scale};
        std::vector<float> amax = {0};
        op.to = {matrix(got.codes, T, C, inverse, format),
                 matrix(got.transposed, C, length, inverse, format), scalars(amax)};
        run(op, seed);
        got.amax = amax[0];
        return got;
    }
    template <typename Op>
    void expect_cast(const Op& op, const std::vector<float>& x, float scale, Fp8 format) const {
        const Codes expected = on_host(x, T, C, scale, format);
        for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed)
            EXPECT_EQ(cast(op, scale, format, seed), expected) << "seed " << seed;
    }
    // `op` merges the largest magnitude of x into amax.
    template <typename Op>
    void expect_amax(Op op, const std::vector<float>& x) const {
        for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
            for (const float before : {0.0f, 1e9f}) {
                std::vector<float> amax = {before};
                op.amax = scalars(amax);
                run(op, seed);
                EXPECT_EQ(amax[0], std::max(before, largest_of(x))) << "seed " << seed;
            }
        }
    }
};

TEST_P(Quantize, Bf16ToBothFormats) {
    std::vector<Bf16> x = to_bits(draw(T * C, 1));
    const std::vector<float> values = to_values(x);
    expect_amax(Fp8Amax{.x = tensor(x, T, C)}, values);
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
        const float scale = fp8_scale(format, largest_of(values));
        expect_cast(Fp8Cast{.x = tensor(x, T, C)}, values, scale, format);
    }
}

TEST_P(Quantize, WeightsInF32AsTheirBf16) {
    std::vector<float> x = draw(T * C, 2, 1e-3f);
    const std::vector<float> narrow = to_values(to_bits(x));
    expect_amax(Fp8Amax{.x = tensor(x, T, C)}, narrow);
    const float scale = fp8_scale(Fp8::e4m3, largest_of(narrow));
    expect_cast(Fp8Cast{.x = tensor(x, T, C)}, narrow, scale, Fp8::e4m3);
}

// Uses a stale scale, which delayed scaling produces after a jump.
TEST_P(Quantize, SaturatesAndMeasuresWhatIsTooLargeForTheScale) {
    std::vector<Bf16> x = to_bits(draw(T * C, 3, 100));
    expect_cast(Fp8Cast{.x = tensor(x, T, C)}, to_values(x), 64, Fp8::e4m3);
}

TEST_P(Quantize, BehindRmsNorm) {
    std::vector<Bf16> x = to_bits(draw(T * C, 4));
    std::vector<float> weight = draw(C, 5), rstd(static_cast<std::size_t>(T), -1), amax = {0};
    const Fp8AmaxRmsNorm measure{.x = tensor(x, T, C),
                                 .weight = scalars(weight),
                                 .rstd = scalars(rstd),
                                 .amax = scalars(amax)};
    run(measure, 0);
    std::vector<float> y;
    for (std::int64_t t = 0; t < T; ++t) {
        double squares = 0;
        const auto factor = rstd[static_cast<std::size_t>(t)];
        for (std::int64_t c = 0; c < C; ++c) {
            const float value = from_bf16(x[static_cast<std::size_t>(t * C + c)]);
            squares += value * value;
            y.push_back(from_bf16(to_bf16(value * factor * weight[static_cast<std::size_t>(c)])));
        }
        EXPECT_NEAR(factor, 1 / std::sqrt(squares / static_cast<double>(C) + 1e-5), 1e-6 * factor);
    }
    expect_amax(measure, y);
    const float scale = fp8_scale(Fp8::e4m3, largest_of(y));
    expect_cast(
        Fp8CastRmsNorm{.x = tensor(x, T, C), .weight = scalars(weight), .rstd = scalars(rstd)}, y,
        scale, Fp8::e4m3);
}

TEST_P(Quantize, BehindSwiglu) {
    std::vector<Bf16> gate = to_bits(draw(T * C, 6)), up = to_bits(draw(T * C, 7));
    std::vector<float> h;
    for (std::size_t i = 0; i < gate.size(); ++i) {
        const float g = from_bf16(gate[i]);
        h.push_back(from_bf16(to_bf16(g * (1 / (1 + std::exp(-g))) * from_bf16(up[i]))));
    }
    const TensorView gates = tensor(gate, T, C), ups = tensor(up, T, C);
    expect_amax(Fp8AmaxSwiglu{.gate = gates, .up = ups}, h);
    const float scale = fp8_scale(Fp8::e4m3, largest_of(h));
    expect_cast(Fp8CastSwiglu{.gate = gates, .up = ups}, h, scale, Fp8::e4m3);
}

TEST_P(Quantize, WritesOneOrientationWhenTheOtherIsNotWanted) {
    std::vector<Bf16> x = to_bits(draw(T * C, 8));
    const Codes expected = on_host(to_values(x), T, C, 2, Fp8::e4m3);
    Scalar inverse{0.5f};
    std::vector<float> amax = {0};
    std::vector<std::uint8_t> got(expected.codes.size());
    Fp8Cast op{.x = tensor(x, T, C)};
    op.to = {.rows = matrix(got, T, C, inverse), .amax = scalars(amax)};
    run(op, 1);
    EXPECT_EQ(got, expected.codes);
    got.resize(expected.transposed.size());
    op.to = {.columns = matrix(got, C, padded_tokens(T), inverse), .amax = scalars(amax)};
    run(op, 1);
    EXPECT_EQ(got, expected.transposed);
}

INSTANTIATE_TEST_SUITE_P(Fp8, Quantize,
                         ::testing::Values(std::pair{1, 16}, std::pair{5, 48}, std::pair{128, 128},
                                           std::pair{130, 272}),
                         [](const auto& info) {
                             return std::to_string(info.param.first) + "x" +
                                    std::to_string(info.param.second);
                         });

TEST(Fp8Scaling, TakesTheLargestOfAHistory) {
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
        for (const float largest :
             {0.0f, 3.7f, 1e-40f, 448.0f, 3e38f, std::numeric_limits<float>::infinity()}) {
            std::vector<float> history(70), scale(1), other(1);
            history[33] = largest;
            const auto device = make_host_device();
            const auto stream = device->make_stream("scale");
            const GpuProfile profile;
            cuda::run(Fp8Scale{.amax = {history.data(), DType::f32, {70}},
                               .format = format,
                               .scale = {scale.data(), DType::f32, {1}},
                               .other = {other.data(), DType::f32, {1}}},
                      {.stream = *stream, .profile = profile, .emulation = {2}});
            stream->synchronize();
            EXPECT_EQ(scale[0], 1 / fp8_scale(format, largest));
            EXPECT_EQ(other, scale);
        }
    }
}

TEST(Fp8Scaling, RefusesRowsThatFp8ProductsCannotTake) {
    std::vector<Bf16> x(60);
    std::vector<float> amax(1);
    const auto device = make_host_device();
    const auto stream = device->make_stream("refused");
    const GpuProfile profile;
    const auto odd = [&] {
        cuda::run(
            Fp8Amax{.x = {x.data(), DType::bf16, {3, 20}}, .amax = {amax.data(), DType::f32, {1}}},
            {.stream = *stream, .profile = profile});
    };
    EXPECT_THAT(odd, ThrowsMessage<CheckError>(HasSubstr("(3, 20) bf16")));
}

}  // namespace
}  // namespace rm
