#include "engine/comm/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "base/random.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

thread_local Staging direct;  // all operands are host memory

using testing::Cluster;
using testing::run_all;

// A tensor that owns host memory.
template <typename T>
struct Host {
    explicit Host(std::int64_t count) : values(static_cast<std::size_t>(count)) {}
    TensorView view() { return {values.data(), dtype_of<T>(), {std::ssize(values)}}; }
    std::vector<T> values;
};

Group world(const Transport& transport) {
    std::vector<int> ranks(static_cast<std::size_t>(transport.num_ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return make_group(ranks, transport.rank());
}

std::int64_t part_size(std::int64_t n, int num_parts, int part) {
    return n / num_parts + (part < n % num_parts ? 1 : 0);
}

// Small integers: any order of summation is exact.
template <typename T>
T term(int rank, std::size_t i) {
    return static_cast<T>((rank + 1) * static_cast<int>(i % 11) - 7 * rank);
}

class Collectives : public ::testing::TestWithParam<std::tuple<std::string, int>> {
protected:
    Cluster cluster() const {
        return {.kind = std::get<0>(GetParam()), .num_ranks = std::get<1>(GetParam())};
    }
    int size() const { return std::get<1>(GetParam()); }

    template <typename T>
    void expect_exact_sum(Transport& transport, std::int64_t n, std::int64_t scratch_elements) {
        SCOPED_TRACE(
            format("{} elements of {}, scratch {}", n, to_string(dtype_of<T>()), scratch_elements));
        Host<T> x(n);
        Host<T> scratch(scratch_elements);
        for (std::size_t i = 0; i < x.values.size(); ++i)
            x.values[i] = term<T>(transport.rank(), i);
        const std::int64_t before = transport.bytes_sent();
        all_reduce_sum(transport, world(transport), direct, x.view(), scratch.view());
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            T sum = 0;
            for (int rank = 0; rank < size(); ++rank)
                sum += term<T>(rank, i);
            ASSERT_EQ(x.values[i], sum) << "element " << i;
        }
        EXPECT_EQ(transport.bytes_sent() - before,
                  all_reduce_elements(transport.rank(), n) * std::int64_t{sizeof(T)});
    }

    // All parts but the one after its own while reducing, all but the next one while gathering.
    std::int64_t all_reduce_elements(int rank, std::int64_t n) const {
        if (size() == 1) return 0;
        return 2 * n - part_size(n, size(), (rank + 1) % size()) -
               part_size(n, size(), (rank + 2) % size());
    }
};

TEST_P(Collectives, RingShiftMovesEachBlockOnePlace) {
    run_all(cluster(), [&](Transport& transport) {
        const Group group = world(transport);
        Host<std::int32_t> out(1000);
        Host<std::int32_t> in(1000);
        std::fill(out.values.begin(), out.values.end(), transport.rank());
        for (int step = 1; step < size(); ++step) {
            ring_shift(transport, group, direct, out.view(), in.view());
            const int origin = (transport.rank() - step + size()) % size();
            EXPECT_EQ(in.values, std::vector<std::int32_t>(1000, origin));
            std::swap(in.values, out.values);
        }
        EXPECT_EQ(transport.bytes_sent(), 4000 * (size() - 1));
        EXPECT_EQ(transport.bytes_received(), 4000 * (size() - 1));
    });
}

TEST_P(Collectives, AllReduceSumIsExact) {
    run_all(cluster(), [&](Transport& transport) {
        for (const std::int64_t n : {1, size() - 1, size(), size() + 1, 1000}) {
            expect_exact_sum<float>(transport, n, all_reduce_scratch_elements(n, size()));
        }
    });
}

TEST_P(Collectives, AllReduceSumTakesEveryDTypeAndScratch) {
    run_all(cluster(), [&](Transport& transport) {
        expect_exact_sum<float>(transport, 403, 7);
        expect_exact_sum<double>(transport, 51, 2);
        expect_exact_sum<std::int32_t>(transport, 4099, 10'000);
    });
}

TEST_P(Collectives, AllGatherBringsEveryPart) {
    run_all(cluster(), [&](Transport& transport) {
        for (const std::int64_t n : {size(), 4 * size() + 3}) {
            Host<double> whole(n);
            std::vector<double> expected;
            for (int rank = 0; rank < size(); ++rank) {
                for (std::int64_t i = 0; i < part_size(n, size(), rank); ++i) {
                    const double value = rank * 100. + static_cast<double>(i);
                    whole.values[expected.size()] = rank == transport.rank() ? value : -1;
                    expected.push_back(value);
                }
            }
            const std::int64_t before = transport.bytes_sent();
            all_gather(transport, world(transport), direct, whole.view());
            EXPECT_EQ(whole.values, expected);
            const std::int64_t sent = n - part_size(n, size(), (transport.rank() + 1) % size());
            EXPECT_EQ(transport.bytes_sent() - before, 8 * sent);
        }
    });
}

TEST_P(Collectives, BroadcastReachesAllFromAnyRoot) {
    std::vector<std::int32_t> expected(257);
    std::iota(expected.begin(), expected.end(), 5);
    run_all(cluster(), [&](Transport& transport) {
        for (int root = 0; root < size(); ++root) {
            Host<std::int32_t> x(257);
            if (transport.rank() == root) x.values = expected;
            const std::int64_t before = transport.bytes_sent();
            broadcast(transport, world(transport), direct, x.view(), root);
            EXPECT_EQ(x.values, expected);
            const bool last = (transport.rank() + 1) % size() == root;
            EXPECT_EQ(transport.bytes_sent() - before, last ? 0 : 257 * 4);
        }
    });
}

TEST_P(Collectives, BroadcastCutsWhatIsLong) {
    constexpr std::int64_t kElements = 2'500'001;  // 10 MB: three pieces
    run_all(cluster(), [&](Transport& transport) {
        const Group group = world(transport);
        Host<std::int32_t> x(kElements);
        if (transport.rank() == 0) std::iota(x.values.begin(), x.values.end(), 0);
        broadcast(transport, group, direct, x.view(), 0);
        EXPECT_TRUE(std::is_sorted(x.values.begin(), x.values.end()));
        EXPECT_EQ(x.values.back(), kElements - 1);
    });
}

TEST_P(Collectives, BarrierWaitsForTheLast) {
    std::atomic<int> entered{0};
    run_all(cluster(), [&](Transport& transport) {
        const Group group = world(transport);
        for (int round = 1; round <= 20; ++round) {
            ++entered;
            barrier(transport, group);
            EXPECT_GE(entered.load(), round * size());
        }
        EXPECT_EQ(transport.bytes_sent(), 20 * (size() - 1));
    });
}

INSTANTIATE_TEST_SUITE_P(, Collectives,
                         ::testing::Combine(::testing::ValuesIn(testing::transport_kinds()),
                                            ::testing::Values(1, 2, 3, 5, 7, 8)),
                         [](const auto& info) {
                             return format("{}_{}", std::get<0>(info.param),
                                           std::get<1>(info.param));
                         });

// Sums of random numbers on `num_ranks` ranks, one result per rank.
std::vector<std::vector<float>> random_sums(const Cluster& cluster, std::uint64_t seed,
                                            std::int64_t scratch_elements) {
    std::vector<std::vector<float>> results(static_cast<std::size_t>(cluster.num_ranks));
    run_all(cluster, [&](Transport& transport) {
        Host<float> x(5003);
        Host<float> scratch(scratch_elements);
        const auto stream = static_cast<std::uint64_t>(transport.rank());
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            x.values[i] = static_cast<float>(normal_at(seed, stream, i));
        }
        all_reduce_sum(transport, world(transport), direct, x.view(), scratch.view());
        results[static_cast<std::size_t>(transport.rank())] = x.values;
    });
    return results;
}

TEST(AllReduceSum, GivesTheSameBitsOnEveryRankTransportAndScratch) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    for (const int num_ranks : {2, 3, 5}) {
        const auto reference =
            random_sums({.kind = "local", .num_ranks = num_ranks}, seed, 100'000);
        for (const auto& result : reference)
            EXPECT_EQ(result, reference[0]);
        for (const std::string& kind : testing::transport_kinds()) {
            const auto sums = random_sums({.kind = kind, .num_ranks = num_ranks}, seed, 998);
            EXPECT_EQ(sums, reference) << kind;
        }
    }
}

TEST(AllReduceSum, RefusesBf16) {
    const auto errors = testing::run_ranks({.num_ranks = 2}, [&](Transport& transport) {
        Host<std::uint16_t> x(4);
        Host<std::uint16_t> scratch(4);
        all_reduce_sum(transport, world(transport), direct, x.view(), scratch.view());
    });
    EXPECT_NE(errors[0].find("not in bf16"), std::string::npos) << errors[0];
}

TEST(Group, KnowsItsNeighbours) {
    const Group group = make_group({3, 5, 9}, 9);
    EXPECT_EQ(group.index, 2);
    EXPECT_EQ(group.next(), 3);
    EXPECT_EQ(group.previous(), 5);
    EXPECT_THROW(make_group({3, 5}, 4), CheckError);
}

}  // namespace
}  // namespace rm
