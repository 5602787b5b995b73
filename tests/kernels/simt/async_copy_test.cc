#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "kernels/simt/emulator.h"
#include "kernels/simt/simt.h"

namespace rm::simt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct alignas(16) Sixteen {
    std::array<unsigned char, 16> bytes;
};

Sixteen filled(unsigned char value) {
    Sixteen x{};
    x.bytes.fill(value);
    return x;
}

// Runs one warp; lane 0 runs `body` on shared memory of four elements and on `from`.
template <typename Body>
void run(const std::vector<Sixteen>& from, Body body) {
    const auto every = [&](void* raw) {
        if (lane() == 0) body(static_cast<Sixteen*>(raw), from.data());
    };
    emulate({}, 32, 4 * sizeof(Sixteen), every, {});
}

const std::vector<Sixteen> kFrom = {filled(1), filled(2), filled(3), filled(4)};

TEST(AsyncCopy, LandsAtTheWaitAndIsNaNBefore) {
    run(kFrom, [](Sixteen* to, const Sixteen* from) {
        std::memset(to, 0, sizeof(*to));
        cp_async_16(to, from);
        EXPECT_EQ(to->bytes, filled(0xff).bytes);
        cp_async_commit();
        EXPECT_EQ(to->bytes, filled(0xff).bytes);
        cp_async_wait<0>();
        EXPECT_EQ(to->bytes, filled(1).bytes);
    });
}

TEST(AsyncCopy, AWaitLeavesTheYoungestGroupsInFlight) {
    run(kFrom, [](Sixteen* to, const Sixteen* from) {
        for (int i = 0; i < 3; ++i) {
            cp_async_16(to + i, from + i);
            cp_async_commit();
        }
        cp_async_wait<1>();
        EXPECT_EQ(to[1].bytes, filled(2).bytes);
        EXPECT_EQ(to[2].bytes, filled(0xff).bytes);
        cp_async_commit();  // an empty group counts
        cp_async_wait<1>();
        EXPECT_EQ(to[2].bytes, filled(3).bytes);
    });
}

TEST(AsyncCopy, AWaitDoesNotSeeWhatWasNotCommitted) {
    run(kFrom, [](Sixteen* to, const Sixteen* from) {
        cp_async_16(to, from);
        cp_async_wait<0>();
        EXPECT_EQ(to->bytes, filled(0xff).bytes);
        cp_async_commit();
        cp_async_wait<0>();
        EXPECT_EQ(to->bytes, filled(1).bytes);
    });
}

TEST(AsyncCopy, ZeroesTheTail) {
    run(kFrom, [](Sixteen* to, const Sixteen* from) {
        cp_async_16(to, from, 0);
        cp_async_16(to + 1, from, 6);
        cp_async_commit();
        cp_async_wait<0>();
        EXPECT_EQ(to[0].bytes, filled(0).bytes);
        Sixteen six = filled(0);
        std::memset(&six, 1, 6);
        EXPECT_EQ(to[1].bytes, six.bytes);
    });
}

TEST(AsyncCopy, ManyGroupsLandInOrder) {
    run(kFrom, [](Sixteen* to, const Sixteen* from) {
        for (int i = 0; i < 1000; ++i) {
            cp_async_16(to + i % 2, from + i % 4);
            cp_async_commit();
            cp_async_wait<1>();
            if (i > 0) {
                EXPECT_EQ(to[(i - 1) % 2].bytes, from[(i - 1) % 4].bytes) << "group " << i;
            }
        }
        cp_async_wait<0>();
    });
}

TEST(AsyncCopy, OneThatNobodyWaitsForIsAnError) {
    const auto forget = [] {
        run(kFrom, [](Sixteen* to, const Sixteen* from) {
            cp_async_16(to, from);
            cp_async_commit();
        });
    };
    EXPECT_THAT(forget, ThrowsMessage<EmulatorError>(AllOf(
                            HasSubstr("thread 0 of block (0, 0, 0) ends before the cp_async_16"),
                            HasSubstr("async_copy_test.cc:"), HasSubstr("was waited for"))));
}

// Returns a call that runs `copy` with a source and a destination of the right kind.
template <typename Copy>
auto copying(Copy copy) {
    return [=] { run(kFrom, copy); };
}

TEST(AsyncCopy, RefusesAddressesThatAGpuRefuses) {
    const auto after = [](auto* p, int bytes) {
        return reinterpret_cast<const unsigned char*>(p) + bytes;
    };
    const auto refused = [](const char* why) {
        return ThrowsMessage<EmulatorError>(
            AllOf(HasSubstr("cp_async_16 at async_copy_test.cc:"), HasSubstr(why)));
    };
    EXPECT_THAT(copying([=](Sixteen* to, const Sixteen* from) {
                    cp_async_16(const_cast<unsigned char*>(after(to, 8)), from);
                }),
                refused("a shared address that is not 16-byte aligned"));
    EXPECT_THAT(copying([=](Sixteen* to, const Sixteen* from) { cp_async_16(to, after(from, 4)); }),
                refused("a source that is not 16-byte aligned"));
    EXPECT_THAT(copying([=](Sixteen* to, const Sixteen* from) { cp_async_16(to + 4, from); }),
                refused("outside the block's shared memory"));
    EXPECT_THAT(copying([=](Sixteen* to, const Sixteen*) { cp_async_16(to, to + 1); }),
                refused("a source in shared memory"));
    EXPECT_THAT(copying([=](Sixteen* to, const Sixteen* from) { cp_async_16(to, from, 17); }),
                refused("a number of bytes outside 0 to 16"));
}

TEST(Ldmatrix, RefusesRowsThatAGpuRefuses) {
    const auto load = [](int offset) {
        return [=] {
            const auto body = [=](void* raw) {
                std::uint32_t r[4];
                ldmatrix_x4(r, static_cast<unsigned char*>(raw) + offset);
            };
            emulate({}, 32, 64, body, {});
        };
    };
    EXPECT_THAT(load(8),
                ThrowsMessage<EmulatorError>(AllOf(HasSubstr("ldmatrix at async_copy_test.cc:"),
                                                   HasSubstr("that is not 16-byte aligned"))));
    EXPECT_THAT(load(64), ThrowsMessage<EmulatorError>(HasSubstr("outside the block's shared")));
}

}  // namespace
}  // namespace rm::simt
