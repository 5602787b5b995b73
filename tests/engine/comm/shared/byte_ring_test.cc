#include "engine/comm/shared/byte_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace rm {
namespace {

using Data = std::vector<std::byte>;

struct Ring {
    explicit Ring(std::size_t bytes) : memory(bytes) {}
    RingState state;
    Data memory;
    RingWriter writer{state, memory};
    RingReader reader{state, memory};
};

Data numbered(std::size_t size, std::size_t first = 0) {
    Data data(size);
    for (std::size_t i = 0; i < size; ++i)
        data[i] = static_cast<std::byte>((first + i) * 7 + (first + i) / 256);
    return data;
}

TEST(ByteRing, ShowsBytesAndRoomOnceTheyArePublished) {
    Ring ring(16);
    EXPECT_EQ(ring.writer.room(), 16u);
    EXPECT_EQ(ring.reader.available(), 0u);
    ring.writer.put(numbered(10));
    EXPECT_EQ(ring.reader.available(), 0u);
    ring.writer.publish();
    EXPECT_EQ(ring.reader.available(), 10u);
    Data taken(10);
    ring.reader.take(taken);
    EXPECT_EQ(taken, numbered(10));
    EXPECT_EQ(ring.writer.room(), 6u);
    ring.reader.publish();
    EXPECT_EQ(ring.writer.room(), 16u);
}

// Random pieces go round a small ring many times, on two threads: the thread sanitizer checks that
// publishing orders the bytes.
TEST(ByteRing, CarriesAStreamBetweenTwoThreads) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    constexpr std::size_t kBytes = 1 << 20;
    Ring ring(1024);
    const Data sent = numbered(kBytes);
    std::thread writer([&] {
        Rng rng(seed);
        for (std::size_t at = 0; at < kBytes;) {
            const std::size_t size =
                std::min({ring.writer.room(), kBytes - at, std::size_t{1} + rng() % 700});
            ring.writer.put(std::span(sent).subspan(at, size));
            ring.writer.publish();
            at += size;
            if (size == 0) std::this_thread::yield();
        }
    });
    Data received(kBytes);
    Rng rng(seed + 1);
    for (std::size_t at = 0; at < kBytes;) {
        const std::size_t size = std::min(ring.reader.available(), std::size_t{1} + rng() % 700);
        ring.reader.take(std::span(received).subspan(at, size));
        ring.reader.publish();
        at += size;
        if (size == 0) std::this_thread::yield();
    }
    writer.join();
    EXPECT_TRUE(received == sent);
}

TEST(ByteRing, SaysOnceThatTheReaderHasComeWhereTheWriterWaits) {
    Ring ring(16);
    ring.writer.put(numbered(16));
    ring.writer.publish();
    Data taken(4);
    const auto take = [&] {
        ring.reader.take(taken);
        return ring.reader.publish();
    };
    EXPECT_FALSE(take()) << "the writer does not wait";
    ring.writer.wake_at(10);
    EXPECT_FALSE(take()) << "it waits for byte 10";
    EXPECT_TRUE(take());
    EXPECT_FALSE(take()) << "it has been told";
}

TEST(ByteRing, RefusesPositionsThatMakeNoSense) {
    Ring ring(16);
    ring.state.written = 17;
    EXPECT_THROW(ring.reader.available(), CheckError);
    ring.state.read = 1;
    EXPECT_THROW(ring.writer.room(), CheckError);
    Data memory(24);
    EXPECT_THROW(RingWriter(ring.state, memory), CheckError);
}

}  // namespace
}  // namespace rm
