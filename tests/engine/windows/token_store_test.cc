// Rows on the host come back through windows as they were written.
#include "engine/windows/token_store.h"

#include <gtest/gtest.h>

#include <list>
#include <memory>

#include "engine/comm/staged_communicator.h"
#include "engine/streams/ops.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/engine/windows/plain_arena.h"

namespace rm {
namespace {

constexpr std::int64_t kRows = 12;
constexpr std::int64_t kWidth = 3;

class TokenStores : public testing::TestWithParam<int> {
protected:
    TokenStores() : memory_(streams_, device_arena_, host_arena_, policy()) {
        memory_.begin_pass();
    }
    static MemoryPolicy policy() {
        MemoryPolicy policy;
        policy.prefetch = GetParam();
        return policy;
    }
    TokenStore store(TokenStore::Place place) {
        return {memory_, {"rows"}, place, DType::f64, {kRows, kWidth}};
    }
    TokenWindow window(TokenStore& store, std::vector<Visit> list, std::int64_t most) {
        return {memory_, store, std::move(list), most};
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
            ops_(Copy{numbers(range, factor), out.rows()});
            group.close();
        }
    }
    const TensorView& numbers(const TokenRange& range, double factor) {
        std::vector<double> values;
        for (std::int64_t row = 0; row < range.count; ++row)
            values.insert(values.end(), kWidth, factor * static_cast<double>(range.first + row));
        inputs_.emplace_back(kernels_->device(), MemoryKind::data, DType::f64,
                             std::initializer_list<std::int64_t>{range.count, kWidth});
        kernels_->device().write(values.data(), inputs_.back());
        return inputs_.back().view();
    }
    std::vector<double> read(TokenStore& store, const std::vector<TokenRange>& cut,
                             std::int64_t most) {
        Tensor seen(kernels_->device(), MemoryKind::data, DType::f64, {kRows, kWidth});
        TokenWindow in = window(store, visits(cut, RowAccess::read), most);
        WindowGroup group(memory_, in);
        for (const TokenRange& range : cut) {
            group.open();
            ops_(Copy{in.rows(), seen->rows(range.first, range.count)});
            group.close();
        }
        compute_->synchronize();
        std::vector<double> values(static_cast<std::size_t>(kRows * kWidth));
        kernels_->device().read(seen, values.data());
        return values;
    }
    static std::vector<double> expected(double factor) {
        std::vector<double> values;
        for (std::int64_t row = 0; row < kRows; ++row)
            values.insert(values.end(), kWidth, factor * static_cast<double>(row));
        return values;
    }

    std::unique_ptr<Kernels> kernels_ = make_ref_kernels();
    std::unique_ptr<Stream> compute_ = kernels_->device().make_stream("compute");
    std::unique_ptr<Stream> to_host_ = kernels_->device().make_stream("to-host");
    std::unique_ptr<Stream> from_host_ = kernels_->device().make_stream("from-host");
    std::unique_ptr<Stream> communication_ = kernels_->device().make_host_stream("communication");
    CommProgress progress_;
    std::unique_ptr<Transport> transport_ = make_local_transport(make_local_hub(1), {});
    StagedCommunicator communicator_{*transport_, kernels_->device(), *communication_, Mesh(),
                                     progress_};
    StreamOrder order_;
    RankStreams streams_{*kernels_, *compute_,   *communication_, communicator_,
                         *to_host_, *from_host_, order_};
    test::PlainArena device_arena_{kernels_->device()};
    test::PlainArena host_arena_{kernels_->device()};
    StepMemory memory_;
    Ops ops_{*kernels_, {}, *compute_, &memory_};
    std::list<Tensor> inputs_;
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
            ops_(Add{numbers(visit.rows, 1), both.rows()});
            group.close();
        }
    }
    std::vector<double> want = expected(1);
    for (std::size_t i = 0; i < want.size(); ++i)
        want[i] *= static_cast<double>(4 - static_cast<int>(i) / (4 * kWidth));
    EXPECT_EQ(read(rows, {{0, 4}, {4, 4}, {8, 4}}, 4), want);
}

TEST_P(TokenStores, GiveTheirWindowsBackByTheEndOfThePass) {
    {
        TokenStore rows = store(TokenStore::Place::host);
        fill(rows, 4, 1);
        EXPECT_LT(device_arena_.num_releases, device_arena_.num_requests) << "still leaving";
        read(rows, {{0, 12}}, 12);
    }
    memory_.end_pass();
    EXPECT_EQ(device_arena_.num_releases, device_arena_.num_requests);
    EXPECT_EQ(host_arena_.num_releases, host_arena_.num_requests);
}

TEST_P(TokenStores, HaveNoWholeOnTheDeviceWhenTheyAreOnTheHost) {
    EXPECT_THROW(store(TokenStore::Place::host).whole(), CheckError);
    EXPECT_EQ(store(TokenStore::Place::device).whole().dim(0), kRows);
}

TEST(Visits, UpToEachAreThoseOfEveryPass) {
    constexpr std::int64_t kCount = 70;
    std::vector<Visit> list;
    for (std::int64_t i = 0; i < kCount; ++i)
        list.push_back({{10 * i, 10}, RowAccess::update});
    const Visits visits = Visits::up_to_each(list, RowAccess::write);
    std::size_t index = 0;
    for (std::int64_t pass = 0; pass < kCount; ++pass) {
        for (std::int64_t block = 0; block <= pass; ++block) {
            const Visit visit = visits[index++];
            EXPECT_EQ(visit.rows.first, 10 * block);
            EXPECT_EQ(visit.access, block == pass ? RowAccess::write : RowAccess::update);
        }
    }
    EXPECT_EQ(index, visits.size());
}

INSTANTIATE_TEST_SUITE_P(Prefetch, TokenStores, testing::Values(0, 1, 2, 4));

}  // namespace
}  // namespace rm
