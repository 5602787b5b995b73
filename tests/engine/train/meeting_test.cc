#include "engine/train/save/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/train/rank_engine.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 3;
constexpr Seconds kTimeout{2};
constexpr Seconds kPatience{3};

void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Three ranks that meet under a timeout of two seconds.
class Meetings : public testing::Test {
protected:
    using Visit = std::function<void(int rank, Meeting& meeting, Transport& transport)>;
    void on_ranks(const Visit& visit) {
        const Mesh mesh = Mesh::make(kRanks, 1, 1, 1).value();
        const auto hub = make_local_hub(kRanks);
        test::on_every_rank(kRanks, [&](int rank) {
            TransportOptions options{.rank = rank, .num_ranks = kRanks, .timeout = kTimeout};
            options.peers = peers_of(mesh)[static_cast<std::size_t>(rank)];
            const auto transport = make_local_transport(hub, options);
            const auto kernels = test::cpu_backend(1)();
            ProgressPage progress{};
            ModelConfig model = find_preset("micro").value();
            RankEngine engine(*kernels, *transport, progress, {model, mesh, rank});
            Meeting meeting({rank, kRanks, kTimeout, kPatience}, engine.streams());
            visit(rank, meeting, *transport);
        });
    }
};

TEST_F(Meetings, WaitForAsLongAsTheSlowestMoves) {
    on_ranks([](int rank, Meeting& meeting, Transport& /*transport*/) {
        const Status status = meeting.together("reading", [&](Activity& activity) {
            for (int i = 0; rank == 1 && i < 4; ++i) {
                sleep_for(kTimeout.value / 2);
                ++activity.done;
            }
            return Status();
        });
        EXPECT_TRUE(status.ok()) << status.error().message;
    });
}

TEST_F(Meetings, EndOnAllWhenNothingMoves) {
    on_ranks([](int rank, Meeting& meeting, Transport& /*transport*/) {
        const Status status = meeting.together("reading", [&](Activity& activity) {
            while (rank == 1 && !activity.cancelled)
                sleep_for(0.01);
            return Status();
        });
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().code, ErrorCode::deadline_exceeded);
        EXPECT_THAT(status.error().message, HasSubstr("reading: nothing has moved for 3.0 s"));
    });
}

TEST_F(Meetings, EndAtOnceWhenARankDies) {
    const auto begin = std::chrono::steady_clock::now();
    on_ranks([](int rank, Meeting& meeting, Transport& transport) {
        if (rank == 2) return transport.abort("it dies");
        const auto work = [](Activity& activity) {
            while (!activity.cancelled)
                sleep_for(0.01);
            return Status();
        };
        EXPECT_ANY_THROW((void)meeting.together("reading", work));
        transport.abort("its peer is gone");
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), kPatience.value);
}

TEST_F(Meetings, AgreeOnWhatTheFirstOfThoseThatFailedSaid) {
    on_ranks([](int rank, Meeting& meeting, Transport& /*transport*/) {
        EXPECT_TRUE(meeting.everyone({}, "all well").ok());
        const auto damaged = [&](int who) {
            return rank == who ? Status(make_error(ErrorCode::data_loss, "shard {} is bad", who))
                               : Status();
        };
        const Meeting::Verdict bad = meeting.agree(damaged(1), "reading");
        EXPECT_TRUE(bad.damaged);
        EXPECT_EQ(bad.words, "shard 1 is bad");
        EXPECT_EQ(bad.status.error().code, rank == 1 ? ErrorCode::data_loss : ErrorCode::aborted);
        if (rank != 1) {
            EXPECT_EQ(bad.status.error().message,
                      "reading: 1 of 3 ranks failed; rank 1: shard 1 is bad");
        }
        // Ranks can skip damage, but not another rank's different failure.
        const Status refused = rank == 2 ? Status(invalid_argument("no such tensor")) : damaged(1);
        const Meeting::Verdict worse = meeting.agree(refused, "reading");
        EXPECT_FALSE(worse.damaged);
        EXPECT_EQ(worse.words, "no such tensor");
        EXPECT_THAT(meeting.gather(10 * rank), testing::ElementsAre(0, 10, 20));
    });
}

}  // namespace
}  // namespace rm
