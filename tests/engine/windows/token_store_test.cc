// Rows on the host come back through windows as they were written.
#include "engine/windows/token_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/windows/memory_rig.h"

namespace rm {
namespace {

constexpr std::int64_t kRows = 12;
constexpr std::int64_t kWidth = 3;

MemoryPolicy policy_of(int prefetch) {
    MemoryPolicy policy;
    policy.prefetch = prefetch;
    return policy;
}

class TokenStores : public testing::TestWithParam<int> {
protected:
    TokenStores() : rig_(policy_of(GetParam())), memory_(rig_.memory) {}

    TokenStore store(TokenStore::Place place) {
        return {memory_, {"rows"}, place, DType::f64, {kRows, kWidth}};
    }
    TokenWindow window(TokenStore& store, std::vector<Visit> list, std::int64_t most) {
        return {memory_, store, std::move(list), most};
    }
    const TensorView& numbers(const TokenRange& range, double factor) {
        std::vector<double> values;
        for (std::int64_t row = 0; row < range.count; ++row)
            values.push_back(factor * static_cast<double>(range.first + row));
        return rig_.rows(values, kWidth);
    }
    // Gives every row its own number, times `factor`, in chunks of `rows`.
    void fill(TokenStore& store, std::int64_t rows, double factor) {
        std::vector<TokenRange> cut;
        for (std::int64_t first = 0; first < kRows; first += rows)
            cut.push_back({first, std::min(rows, kRows - first)});
        TokenWindow out = window(store, visits(cut, RowAccess::write), rows);
        WindowGroup group(memory_, out);
        for (const TokenRange& range : cut) {
            group.open();
            rig_.ops(Copy{numbers(range, factor), out.rows()});
            group.close();
        }
    }
    std::vector<double> read(TokenStore& store, const std::vector<TokenRange>& cut,
                             std::int64_t most) {
        Tensor seen(rig_.kernels->device(), MemoryKind::data, DType::f64, {kRows, kWidth});
        TokenWindow in = window(store, visits(cut, RowAccess::read), most);
        WindowGroup group(memory_, in);
        for (const TokenRange& range : cut) {
            group.open();
            rig_.ops(Copy{in.rows(), seen->rows(range.first, range.count)});
            group.close();
        }
        return rig_.first_of_rows(seen);
    }
    static std::vector<double> expected(double factor) {
        std::vector<double> values;
        for (std::int64_t row = 0; row < kRows; ++row)
            values.push_back(factor * static_cast<double>(row));
        return values;
    }

    test::MemoryRig rig_;
    StepMemory& memory_;
};

TEST_P(TokenStores, GiveBackWhatWasWrittenWhereverTheyAre) {
    for (const auto place : {TokenStore::Place::device, TokenStore::Place::host}) {
        TokenStore rows = store(place);
        fill(rows, 4, 2);
        EXPECT_EQ(read(rows, {{0, 4}, {4, 4}, {8, 4}}, 4), expected(2));
    }
}

TEST_P(TokenStores, AreReadInOtherCutsThanTheyWereWritten) {
    TokenStore rows = store(TokenStore::Place::host);
    fill(rows, 4, 3);
    EXPECT_EQ(read(rows, {{0, 3}, {3, 6}, {9, 3}}, 6), expected(3));
}

TEST_P(TokenStores, KeepUpdatesOfRowsThatComeByAgain) {
    TokenStore rows = store(TokenStore::Place::host);
    fill(rows, 4, 1);
    // Visits in a triangle, as attention visits key-value chunks.
    std::vector<Visit> list;
    for (std::int64_t pass = 0; pass < 3; ++pass) {
        for (std::int64_t chunk = 0; chunk <= pass; ++chunk)
            list.push_back({{4 * chunk, 4}, RowAccess::update});
    }
    {
        TokenWindow both = window(rows, list, 4);
        WindowGroup group(memory_, both);
        for (const Visit& visit : list) {
            group.open();
            rig_.ops(Add{numbers(visit.rows, 1), both.rows()});
            group.close();
        }
    }
    std::vector<double> want = expected(1);
    for (std::size_t i = 0; i < want.size(); ++i)
        want[i] *= static_cast<double>(4 - static_cast<int>(i) / 4);
    EXPECT_EQ(read(rows, {{0, 4}, {4, 4}, {8, 4}}, 4), want);
}

TEST_P(TokenStores, GiveTheirWindowsBackByTheEndOfThePass) {
    {
        TokenStore rows = store(TokenStore::Place::host);
        fill(rows, 4, 1);
        EXPECT_LT(rig_.device_arena.num_releases, rig_.device_arena.num_requests)
            << "still leaving";
        read(rows, {{0, 12}}, 12);
    }
    memory_.end_pass();
    EXPECT_EQ(rig_.device_arena.num_releases, rig_.device_arena.num_requests);
    EXPECT_EQ(rig_.host_arena.num_releases, rig_.host_arena.num_requests);
}

TEST_P(TokenStores, HaveNoWholeOnTheDeviceWhenTheyAreOnTheHost) {
    EXPECT_THROW(store(TokenStore::Place::host).whole(), CheckError);
    EXPECT_EQ(store(TokenStore::Place::device).whole().dim(0), kRows);
}

INSTANTIATE_TEST_SUITE_P(Prefetch, TokenStores, testing::Values(0, 1, 2, 4));

class TokenWindows : public TokenStores {};

// As in a ring, where blocks take turns in several places.
TEST_P(TokenWindows, VisitSeveralStoresInTurn) {
    for (const auto place : {TokenStore::Place::device, TokenStore::Place::host}) {
        TokenStore a = store(place), b = store(place);
        std::vector<Visit> list;
        for (std::int64_t first = 0; first < kRows; first += 3) {
            list.push_back({{first, 3}, RowAccess::write, 0});
            list.push_back({{kRows - 3 - first, 3}, RowAccess::write, 1});
            list.push_back({{first, 3}, RowAccess::update, 0});
        }
        {
            TokenWindow both(memory_, {&a, &b}, list, 3);
            WindowGroup group(memory_, both);
            for (const Visit& visit : list) {
                group.open();
                const TensorView& rows = numbers(visit.rows, visit.store == 0 ? 1 : 5);
                if (visit.access == RowAccess::write) rig_.ops(Copy{rows, both.rows()});
                if (visit.access == RowAccess::update) rig_.ops(Add{rows, both.rows()});
                group.close();
            }
        }
        EXPECT_EQ(read(a, {{0, 6}, {6, 6}}, 6), expected(2));
        EXPECT_EQ(read(b, {{0, 6}, {6, 6}}, 6), expected(5));
    }
}

TEST_P(TokenWindows, ShowTheRowsOfTwoOpenVisits) {
    for (const auto place : {TokenStore::Place::device, TokenStore::Place::host}) {
        TokenStore rows = store(place);
        fill(rows, 4, 1);
        const std::vector<TokenRange> cut = {{0, 3}, {3, 4}, {7, 2}, {9, 3}};
        {
            TokenWindow both(memory_, rows, visits(cut, RowAccess::update), 4, 2);
            WindowGroup group(memory_, both);
            const auto double_rows = [&](const TokenRange& range) {
                rig_.ops(Add{numbers(range, 1), both.at(range)});
            };
            group.open();
            for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
                group.open();
                EXPECT_THROW(group.open(), CheckError) << "a third one";
                double_rows({cut[i + 1].first, 1});  // the younger first
                double_rows({cut[i].first + 1, cut[i].count - 1});
                if (i == 0) double_rows({0, 1});
                group.close();
                EXPECT_THROW(both.at(cut[i]), CheckError) << "closed";
            }
            double_rows({10, 2});
            group.close();
        }
        EXPECT_EQ(read(rows, {{0, 6}, {6, 6}}, 6), expected(2));
    }
}

TEST_P(TokenWindows, FetchNothingFromTheirLimitOn) {
    TokenStore rows = store(TokenStore::Place::host);
    fill(rows, 4, 1);
    Tensor seen(rig_.kernels->device(), MemoryKind::data, DType::f64, {kRows, kWidth});
    const std::vector<TokenRange> cut = {{0, 4}, {4, 4}, {8, 4}};
    TokenWindow in = window(rows, visits(cut, RowAccess::read), 4);
    in.limit(0);
    WindowGroup reads(memory_, in);
    TokenWindow out = window(rows, visits(cut, RowAccess::write), 4);
    WindowGroup writes(memory_, out);
    for (std::size_t i = 0; i < cut.size(); ++i) {
        writes.open();
        rig_.ops(Copy{numbers(cut[i], 7), out.rows()});
        writes.close();
        in.limit(i + 1);
        reads.open();
        rig_.ops(Copy{in.rows(), seen->rows(cut[i].first, cut[i].count)});
        reads.close();
    }
    EXPECT_EQ(rig_.first_of_rows(seen), expected(7)) << "not what was there before";
}

TEST_P(TokenWindows, RefuseRowsBeyondTheirLimit) {
    TokenStore rows = store(TokenStore::Place::host);
    fill(rows, 4, 1);
    TokenWindow in = window(rows, visits({{0, 4}, {4, 4}}, RowAccess::read), 4);
    in.limit(1);
    WindowGroup group(memory_, in);
    group.open();
    group.close();
    EXPECT_THROW(group.open(), CheckError);
}

INSTANTIATE_TEST_SUITE_P(Prefetch, TokenWindows, testing::Values(0, 1, 2, 4));

}  // namespace
}  // namespace rm
