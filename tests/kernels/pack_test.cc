// Every backend packs a row into the same words, whatever is in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/bf16.h"
#include "kernels/pack_row.h"
#include "tests/kernels/factories.h"

namespace rm::test {
namespace {

constexpr std::int64_t kRow = 10;  // a word is not full

std::vector<float> some_rows() {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x;
    const auto add = [&](std::vector<float> row) {
        row.resize(kRow, 0.5f);
        x.insert(x.end(), row.begin(), row.end());
    };
    x.resize(kRow, 0.0f);
    add({448, -448, 1, 0.001f});
    add({449, 13});  // half the factor of 448
    add({0, -0.0f, 0x1p-120f});
    add({1, inf, -inf, 3});             // becomes 448
    add({nan, 2, -nan, 0x1p-30f});      // counts for no factor
    add({17, 19, 21, 23, 25, 27, 29});  // halves between codes
    return x;
}

std::vector<std::int32_t> host_words(const std::vector<float>& x) {
    const std::int64_t T = std::ssize(x) / kRow, W = packed_words(kRow);
    std::vector<std::int32_t> words(static_cast<std::size_t>(T * W));
    for (std::int64_t t = 0; t < T; ++t) {
        pack_row(
            kRow, [&](std::int64_t c) { return x[static_cast<std::size_t>(t * kRow + c)]; },
            &words[static_cast<std::size_t>(t * W)]);
    }
    return words;
}

// In the type in which the backend computes; the numbers are exact in each.
void write(Device& device, const std::vector<float>& x, const TensorView& to) {
    if (to.dtype() == DType::f32) return device.write(x.data(), to);
    if (to.dtype() == DType::f64)
        return device.write(std::vector<double>(x.begin(), x.end()).data(), to);
    std::vector<Bf16> narrow(x.size());
    std::transform(x.begin(), x.end(), narrow.begin(), to_bf16);
    device.write(narrow.data(), to);
}

TEST(PackRows, GivesTheSameWordsOnEveryBackend) {
    std::vector<float> x = some_rows();
    for (float& number : x)
        number = from_bf16(to_bf16(number));
    const std::int64_t T = std::ssize(x) / kRow;
    const std::vector<std::int32_t> expected = host_words(x);
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        Device& device = kernels->device();
        const auto stream = device.make_stream("test");
        const Tensor rows(device, MemoryKind::activations, kernels->types().compute, {T, kRow});
        const Tensor packed(device, MemoryKind::activations, DType::i32, {T, packed_words(kRow)});
        write(device, x, rows);
        kernels->run(PackRows{rows, packed}, *stream);
        stream->synchronize();
        std::vector<std::int32_t> words(expected.size());
        device.read(packed, words.data());
        EXPECT_EQ(words, expected);
    }
}

// A sample of all floats, and what is next to each code and to each half between two.
TEST(PackRows, RoundsAsToFp8Does) {
    const auto check = [](std::uint32_t bits) {
        const auto x = std::bit_cast<float>(bits);
        ASSERT_EQ(round_fp8<Fp8::e4m3>(x), to_fp8(Fp8::e4m3, x)) << bits;
        ASSERT_EQ(round_fp8<Fp8::e5m2>(x), to_fp8(Fp8::e5m2, x)) << bits;
    };
    for (std::uint32_t bits = 0; bits < 0xffff0000; bits += 70'001)
        check(bits);
    for (std::uint32_t bits = 0x37000000; bits < 0x48000000; bits += 1 << 17) {
        for (const std::uint32_t near : {bits - 1, bits, bits + 1})
            check(near);
    }
}

// A power of two as the factor: numbers of four significant bits come back as they are.
TEST(PackRows, LosesNothingOfShortNumbers) {
    std::vector<std::int32_t> words(4);
    const std::vector<float> x = {3e0f * 0x1p40f, -0x1p40f, 0x1.ep39f, 0, 0x1p33f};
    pack_row(
        5, [&](std::int64_t c) { return x[static_cast<std::size_t>(c)]; }, words.data());
    unpack_row(5, words.data(), [&](std::int64_t c, float number) {
        EXPECT_EQ(number, x[static_cast<std::size_t>(c)]);
    });
}

}  // namespace
}  // namespace rm::test
