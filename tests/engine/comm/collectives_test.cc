#include "engine/comm/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "base/random.h"
#include "kernels/bf16.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

thread_local Staging direct;  // all operands are host memory

using testing::all_peers;
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

template <typename T>
T number(int value) {
    return static_cast<T>(value);
}
template <>
Bf16 number(int value) {
    return to_bf16(static_cast<float>(value));
}

// Small integers: any order of summation is exact.
int term(int rank, std::int64_t i) {
    return (rank + 1) * static_cast<int>(i % 11) - 7 * rank;
}

template <typename T>
Host<T> terms(int rank, std::int64_t n) {
    Host<T> x(n);
    for (std::int64_t i = 0; i < n; ++i)
        x.values[static_cast<std::size_t>(i)] = number<T>(term(rank, i));
    return x;
}

template <typename T>
T sum_of_terms(int num_ranks, std::int64_t i) {
    int sum = 0;
    for (int rank = 0; rank < num_ranks; ++rank)
        sum += term(rank, i);
    return number<T>(sum);
}

// The most scratch that a sum uses: two parts.
std::int64_t all_reduce_scratch_elements(std::int64_t num_elements, int group_size) {
    return std::max<std::int64_t>(2, 2 * part_of(num_elements, group_size, 0).count);
}

class Collectives : public ::testing::TestWithParam<std::tuple<std::string, int>> {
protected:
    Cluster cluster() const {
        return {.kind = std::get<0>(GetParam()), .num_ranks = std::get<1>(GetParam())};
    }
    int size() const { return std::get<1>(GetParam()); }

    template <typename T>
    void expect_exact_sum(Transport& transport, std::int64_t n, std::int64_t scratch_elements) {
        // Sends all parts but its own while reducing, all but the next one while gathering.
        const std::int64_t gathered = n - part_size(n, size(), (transport.rank() + 1) % size());
        const std::int64_t sent = reduce_scatter_elements(transport.rank(), n) + gathered;
        expect_sums<T>(transport, {all_reduce_sum, {0, n}, sent}, n, scratch_elements);
    }
    template <typename T>
    void expect_exact_part(Transport& transport, std::int64_t n, std::int64_t scratch_elements) {
        const int me = transport.rank();
        const std::int64_t sent = reduce_scatter_elements(me, n);
        expect_sums<T>(transport, {reduce_scatter_sum, part_of(n, size(), me), sent}, n,
                       scratch_elements);
    }
    std::int64_t reduce_scatter_elements(int rank, std::int64_t n) const {
        return n - part_size(n, size(), rank);
    }

private:
    // A sum of n elements, the part that it leaves here and the number of elements it sends.
    struct Sum {
        void (*play)(Transport&, const Group&, Staging&, const TensorView&, const TensorView&);
        Part here;
        std::int64_t sent = 0;
    };
    template <typename T>
    void expect_sums(Transport& transport, const Sum& sum, std::int64_t n,
                     std::int64_t scratch_elements) {
        SCOPED_TRACE(
            format("{} elements of {}, scratch {}", n, to_string(dtype_of<T>()), scratch_elements));
        Host<T> x = terms<T>(transport.rank(), n);
        Host<T> scratch(scratch_elements);
        const std::int64_t before = transport.bytes_sent();
        sum.play(transport, world(transport), direct, x.view(), scratch.view());
        for (std::int64_t i = sum.here.first; i < sum.here.first + sum.here.count; ++i) {
            ASSERT_EQ(x.values[static_cast<std::size_t>(i)], sum_of_terms<T>(size(), i))
                << "element " << i;
        }
        EXPECT_EQ(transport.bytes_sent() - before, sum.sent * std::int64_t{sizeof(T)});
    }
};

TEST_P(Collectives, RingShiftMovesEachBlockOnePlace) {
    run_all(cluster(), [&](Transport& transport) {
        const Group group = world(transport);
        Host<std::int32_t> out(1000);
        Host<std::int32_t> in(1000);
        std::fill(out.values.begin(), out.values.end(), transport.rank());
        for (int step = 1; step < size(); ++step) {
            const RingShift shift{group, out.view(), in.view()};
            ring_shifts(transport, direct, {&shift, 1});
            const int origin = (transport.rank() - step + size()) % size();
            EXPECT_EQ(in.values, std::vector<std::int32_t>(1000, origin));
            std::swap(in.values, out.values);
        }
        EXPECT_EQ(transport.bytes_sent(), 4000 * (size() - 1));
        EXPECT_EQ(transport.bytes_received(), 4000 * (size() - 1));
    });
}

TEST_P(Collectives, RingShiftsGoAtOnceOnDifferentRings) {
    run_all(cluster(), [&](Transport& transport) {
        const Group there = world(transport);
        Group back = there;  // the same ring, the other way round
        std::reverse(back.ranks.begin(), back.ranks.end());
        back.index = size() - 1 - there.index;
        Host<std::int32_t> out(7), in(7);
        Host<float> out_back(1000), in_back(1000);
        std::fill(out.values.begin(), out.values.end(), transport.rank());
        std::fill(out_back.values.begin(), out_back.values.end(), transport.rank());
        const std::vector<RingShift> shifts = {{there, out.view(), in.view()},
                                               {back, out_back.view(), in_back.view()}};
        ring_shifts(transport, direct, shifts);
        if (size() == 1) return;
        EXPECT_EQ(in.values, std::vector<std::int32_t>(7, there.previous()));
        EXPECT_EQ(in_back.values, std::vector<float>(1000, static_cast<float>(there.next())));
        EXPECT_EQ(transport.bytes_sent(), 7 * 4 + 1000 * 4);
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
        expect_exact_sum<Bf16>(transport, 1003, 7);
    });
}

TEST_P(Collectives, ReduceScatterSumIsExact) {
    run_all(cluster(), [&](Transport& transport) {
        // Fewer elements than ranks leave parts empty.
        for (const std::int64_t n : {0, 1, size() - 1, size(), size() + 1, 1003}) {
            expect_exact_part<float>(transport, n, all_reduce_scratch_elements(n, size()));
        }
        expect_exact_part<double>(transport, 403, 7);
        expect_exact_part<std::int32_t>(transport, 51, 2);
        expect_exact_part<Bf16>(transport, 403, 9);
    });
}

// 1 and a unit in its last place: sums beyond 2 lose it, now up, now down.
TEST_P(Collectives, SumsOfBf16AreRoundedAtEachRank) {
    run_all(cluster(), [&](Transport& transport) {
        const Group group = world(transport);
        Host<Bf16> x(size()), scratch(2);
        std::fill(x.values.begin(), x.values.end(), to_bf16(1.0F + 1.0F / 128));
        all_reduce_sum(transport, group, direct, x.view(), scratch.view());
        Bf16 expected = to_bf16(1.0F + 1.0F / 128);
        for (int rank = 1; rank < size(); ++rank)
            expected = to_bf16(from_bf16(expected) + 1.0F + 1.0F / 128);
        EXPECT_EQ(x.values, std::vector<Bf16>(usize(size()), expected));
    });
}

TEST_P(Collectives, AllToAllTradesBlocks) {
    Cluster connected = cluster();
    connected.peers = all_peers(size());
    run_all(connected, [&](Transport& transport) {
        for (const std::int64_t block : {0, 1, 501}) {
            Host<std::int32_t> out(block * size());
            Host<std::int32_t> in(block * size());
            std::vector<std::int32_t> expected;
            for (int rank = 0; rank < size(); ++rank) {
                for (std::int64_t i = 0; i < block; ++i) {
                    const auto place = static_cast<std::size_t>(rank * block + i);
                    const auto value = [&](int from, int to) {
                        return (from * 100 + to) * 1000 + static_cast<std::int32_t>(i);
                    };
                    out.values[place] = value(transport.rank(), rank);
                    in.values[place] = -1;
                    expected.push_back(rank == transport.rank() ? -1
                                                                : value(rank, transport.rank()));
                }
            }
            const std::int64_t before = transport.bytes_sent();
            all_to_all(transport, world(transport), direct, out.view(), in.view());
            EXPECT_EQ(in.values, expected);
            EXPECT_EQ(transport.bytes_sent() - before, (size() - 1) * block * 4);
        }
    });
}

TEST_P(Collectives, AllGatherBringsEveryPart) {
    run_all(cluster(), [&](Transport& transport) {
        for (const std::int64_t n : {size() - 1, size(), 4 * size() + 3}) {
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

// Adds larger groups for the transport that connects quickly.
std::vector<std::tuple<std::string, int>> groups() {
    std::vector<std::tuple<std::string, int>> groups = {{"local", 7}, {"local", 8}};
    for (const std::string& kind : testing::transport_kinds()) {
        for (int size = 1; size <= 5; ++size)
            groups.emplace_back(kind, size);
    }
    return groups;
}

INSTANTIATE_TEST_SUITE_P(, Collectives, ::testing::ValuesIn(groups()), [](const auto& info) {
    return format("{}_{}", std::get<0>(info.param), std::get<1>(info.param));
});

using Numbers = std::vector<float>;
constexpr std::int64_t kRandomCount = 5003;

Numbers random_terms(std::uint64_t seed, int rank) {
    Numbers numbers(static_cast<std::size_t>(kRandomCount));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(normal_at(seed, static_cast<std::uint64_t>(rank), i));
    return numbers;
}

// Sums part p in the ring's order: ((x_{p+1} + x_{p+2}) + ...) + x_p.
Numbers ring_sums(std::uint64_t seed, int num_ranks) {
    Numbers sums;
    std::vector<Numbers> x;
    for (int rank = 0; rank < num_ranks; ++rank)
        x.push_back(random_terms(seed, rank));
    for (int p = 0; p < num_ranks; ++p) {
        const Part part = part_of(kRandomCount, num_ranks, p);
        for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
            const auto term = [&](int steps) {
                return x[static_cast<std::size_t>((p + steps) % num_ranks)]
                        [static_cast<std::size_t>(i)];
            };
            float sum = term(1);
            for (int steps = 2; steps <= num_ranks; ++steps)
                sum += term(steps);
            sums.push_back(sum);
        }
    }
    return sums;
}

// Returns the result of each rank.
using Collective = void (*)(Transport&, const Group&, Staging&, const TensorView&,
                            const TensorView&);
std::vector<Numbers> results_of(Collective collective, const Cluster& cluster, std::uint64_t seed,
                                std::int64_t scratch_elements) {
    std::vector<Numbers> results(static_cast<std::size_t>(cluster.num_ranks));
    run_all(cluster, [&](Transport& transport) {
        Host<float> x(0);
        x.values = random_terms(seed, transport.rank());
        Host<float> scratch(scratch_elements);
        collective(transport, world(transport), direct, x.view(), scratch.view());
        results[static_cast<std::size_t>(transport.rank())] = x.values;
    });
    return results;
}

void reduce_scatter_then_gather(Transport& transport, const Group& group, Staging& staging,
                                const TensorView& x, const TensorView& scratch) {
    reduce_scatter_sum(transport, group, staging, x, scratch);
    const Part own = part_of(x.num_elements(), group.size(), group.index);
    // Only partial sums are outside this rank's part; overwrites them.
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
        if (i < own.first || i >= own.first + own.count) x.as<float>()[i] = -1;
    }
    all_gather(transport, group, staging, x);
}

TEST(Sums, HaveTheBitsOfTheRingOnEveryRankTransportAndScratch) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    for (const int num_ranks : {2, 3, 5}) {
        const std::vector<Numbers> expected(static_cast<std::size_t>(num_ranks),
                                            ring_sums(seed, num_ranks));
        for (const std::string& kind : testing::transport_kinds()) {
            const Cluster cluster{.kind = kind, .num_ranks = num_ranks};
            for (const std::int64_t scratch : {998, 100'000}) {
                SCOPED_TRACE(format("{} ranks, {}, scratch {}", num_ranks, kind, scratch));
                EXPECT_EQ(results_of(all_reduce_sum, cluster, seed, scratch), expected);
                EXPECT_EQ(results_of(reduce_scatter_then_gather, cluster, seed, scratch), expected);
            }
        }
    }
}

TEST(AllToAll, RefusesWhatIsNotEqualBlocks) {
    const auto errors = testing::run_ranks({.num_ranks = 2}, [&](Transport& transport) {
        Host<float> out(3), in(3);
        all_to_all(transport, world(transport), direct, out.view(), in.view());
    });
    EXPECT_NE(errors[0].find("both are 2 equal blocks"), std::string::npos) << errors[0];
}

TEST(PartOf, CoversAllOnce) {
    for (const int num_parts : {1, 2, 3, 7}) {
        for (const std::int64_t n : {0, 1, 6, 7, 100}) {
            std::int64_t next = 0;
            for (int i = 0; i < num_parts; ++i) {
                const Part part = part_of(n, num_parts, i);
                EXPECT_EQ(part.first, next);
                EXPECT_EQ(part.count, part_size(n, num_parts, i));
                next += part.count;
            }
            EXPECT_EQ(next, n);
        }
    }
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
