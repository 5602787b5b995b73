#include "controller/curves/chunk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace rm::test {
namespace {

CurveLine decoded(const std::string& bytes) {
    CurveLine line;
    const Status status = decode_chunk(bytes, line);
    EXPECT_TRUE(status) << status.error().message;
    return line;
}

TEST(Chunks, GiveWholeNumbersBackExactly) {
    CurveLine times;
    for (std::int64_t step = 1; step <= 1000; ++step)
        times.add(step, 1'790'000'000'000'000.0 + 350'000.0 * static_cast<double>(step % 7 + step));
    EXPECT_EQ(decoded(encode_chunk(times, ChunkValues::whole)), times);
}

TEST(Chunks, GiveRealNumbersBackTo24Bits) {
    std::mt19937 random(7);
    std::normal_distribution<double> value(2.5, 0.1);
    CurveLine line;
    for (std::int64_t step = 1; step <= 1000; ++step)
        line.add(3 * step, value(random));
    const CurveLine back = decoded(encode_chunk(line, ChunkValues::real));
    EXPECT_EQ(back.steps, line.steps);
    for (std::size_t i = 0; i < line.size(); ++i)
        EXPECT_EQ(back.values[i], static_cast<double>(static_cast<float>(line.values[i])));
}

TEST(Chunks, KeepWhatIsNoNumber) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    const CurveLine line{{-5, 0, 1 << 30}, {nan, -inf, 0.0}};
    const CurveLine back = decoded(encode_chunk(line, ChunkValues::real));
    EXPECT_EQ(back.steps, line.steps);
    EXPECT_TRUE(std::isnan(back.values[0]));
    EXPECT_EQ(back.values[1], -inf);
    EXPECT_EQ(back.values[2], 0.0);
}

TEST(Chunks, AreSmall) {
    std::mt19937 random(7);
    std::normal_distribution<double> value(2.5, 0.1);
    CurveLine noisy;
    CurveLine still;
    for (std::int64_t step = 1; step <= 1024; ++step) {
        noisy.add(step, value(random));
        still.add(step, 4.0e9);
    }
    EXPECT_LT(encode_chunk(noisy, ChunkValues::real).size(), 1024u * 4);
    EXPECT_LT(encode_chunk(still, ChunkValues::real).size(), 100u);
}

TEST(Chunks, OfDamagedBytesAreDataLoss) {
    const CurveLine line{{1, 2, 3}, {1, 2, 3}};
    const std::string whole = encode_chunk(line, ChunkValues::real);
    CurveLine out;
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(decode_chunk(whole.substr(0, size), out).error().code, ErrorCode::data_loss);
    std::string other = whole;
    other[0] = 9;
    EXPECT_FALSE(decode_chunk(other, out));
    other[0] = 1;  // reals read as whole numbers
    EXPECT_NO_THROW(static_cast<void>(decode_chunk(other, out).ok()));
}

}  // namespace
}  // namespace rm::test
