#include "engine/comm/exchange.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/engine/comm/cluster.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Exchanges : public ::testing::TestWithParam<std::string> {
protected:
    std::vector<std::unique_ptr<Exchange>> make(int num_ranks) {
        if (GetParam() == "local") return make_local_exchanges(num_ranks);
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (int rank = 0; rank < num_ranks; ++rank) {
            exchanges.push_back(make_directory_exchange(directory_.path(), rank, num_ranks));
        }
        return exchanges;
    }

    TempDir directory_;
};

TEST_P(Exchanges, GiveEveryRankTheTableOfAll) {
    const auto exchanges = make(3);
    const std::vector<std::string> blobs = {std::string("\0\n\xff", 3), "", "two"};
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        threads.emplace_back([&, rank] {
            const auto table = exchanges[rank]->exchange("world", blobs[rank], Seconds{20});
            ASSERT_TRUE(table) << table.error().message;
            EXPECT_EQ(*table, blobs);
        });
    }
    for (auto& thread : threads)
        thread.join();
}

TEST_P(Exchanges, NameTheRanksThatAreMissing) {
    const auto exchanges = make(4);
    std::thread other([&] { (void)exchanges[2]->exchange("world", "two", Seconds{0.1}); });
    const auto table = exchanges[0]->exchange("world", "zero", Seconds{0.1});
    other.join();
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, ErrorCode::deadline_exceeded);
    EXPECT_THAT(table.error().message, HasSubstr("1, 3 of 4 have not published within 100 ms"));
}

TEST_P(Exchanges, KeepGroupsApart) {
    const auto exchanges = make(1);
    EXPECT_THAT(exchanges[0]->exchange("a", "1", Seconds{1}).value(), ElementsAre("1"));
    EXPECT_THAT(exchanges[0]->exchange("b", "2", Seconds{1}).value(), ElementsAre("2"));
}

TEST_P(Exchanges, GiveTheTableAgain) {
    const auto exchanges = make(1);
    EXPECT_THAT(exchanges[0]->exchange("a", "1", Seconds{1}).value(), ElementsAre("1"));
    EXPECT_THAT(exchanges[0]->exchange("a", "1", Seconds{1}).value(), ElementsAre("1"));
}

TEST_P(Exchanges, RefuseGroupsThatAreNoNames) {
    const auto exchanges = make(1);
    for (const char* group : {"", "../a", "a b", "a.b"}) {
        const auto table = exchanges[0]->exchange(group, "1", Seconds{1});
        ASSERT_FALSE(table) << group;
        EXPECT_EQ(table.error().code, ErrorCode::invalid_argument);
    }
}

INSTANTIATE_TEST_SUITE_P(, Exchanges, ::testing::Values("local", "directory"),
                         [](const auto& info) { return info.param; });

TEST(LocalExchange, RefusesASecondBlobOfOneRank) {
    const auto exchanges = make_local_exchanges(1);
    ASSERT_TRUE(exchanges[0]->exchange("a", "1", Seconds{1}));
    const auto again = exchanges[0]->exchange("a", "2", Seconds{1});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::already_exists);
}

TEST(DirectoryExchange, SaysThatItsDirectoryIsMissing) {
    const auto exchange = make_directory_exchange("/nonexistent/rendezvous", 0, 1);
    const auto table = exchange->exchange("a", "1", Seconds{1});
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, ErrorCode::unavailable);
    EXPECT_THAT(table.error().message, HasSubstr("/nonexistent/rendezvous/a.0"));
}

TEST(DirectoryExchange, DoesNotTakeAFileThatIsBeingWritten) {
    const TempDir directory;
    std::ofstream(directory / "a.1.tmp77") << "hal";
    const auto exchange = make_directory_exchange(directory.path(), 0, 2);
    EXPECT_FALSE(exchange->exchange("a", "0", Seconds{0.05}));
}

}  // namespace
}  // namespace rm
