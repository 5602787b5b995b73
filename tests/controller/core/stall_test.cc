#include "controller/core/due.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

// In its 41st collective, quiet for 17 s, waiting for the next rank of the ring.
RankStatus waiting(int rank) {
    RankStatus status = training(rank);
    status.step = 5;
    status.phase = "forward";
    status.last_collective = "ring_hop";
    status.collectives_entered = 41;
    status.collectives_left = 40;
    status.waits_for = (rank + 1) % 4;
    status.quiet = Seconds{17.4};
    status.longest_quiet = Seconds{2};
    return status;
}
std::vector<WatchedRank> four() {
    std::vector<WatchedRank> ranks;
    for (int rank = 0; rank < 4; ++rank)
        ranks.push_back({{format("n{}", rank + 1)}, waiting(rank)});
    return ranks;
}
// Busy with something other than a collective, after its 40th.
void leave(RankStatus& status) {
    status.collectives_entered = status.collectives_left = 40;
    status.waits_for = -1;
}

TEST(Stall, ARankThatIsSuspendedIsAtFault) {
    auto ranks = four();
    ranks[2].status.suspended = true;
    leave(ranks[1].status);
    EXPECT_EQ(stall_cause(ranks),
              "rank 2 on node n3 is stopped by a signal; 2 ranks wait in ring_hop for it, the last "
              "progress was 17 s ago");
}

TEST(Stall, ElseTheRankThatIsNotWhereTheOthersWait) {
    auto ranks = four();
    leave(ranks[1].status);
    EXPECT_EQ(stall_cause(ranks),
              "rank 1 on node n2 makes no progress in forward; 3 ranks wait in ring_hop for it, "
              "the last progress was 17 s ago");
}

TEST(Stall, ElseTheRankThatMostWaitFor) {
    auto ranks = four();
    for (WatchedRank& rank : ranks)
        rank.status.waits_for = rank.status.rank == 3 ? 0 : 3;
    EXPECT_EQ(stall_cause(ranks),
              "rank 3 on node n4 is stuck in ring_hop; 3 ranks wait in ring_hop for it, the last "
              "progress was 17 s ago");
}

TEST(Stall, ElseTheQuietest) {
    auto ranks = four();
    for (WatchedRank& rank : ranks)
        leave(rank.status);
    ranks[1].status.quiet = Seconds{30};
    EXPECT_EQ(stall_cause(ranks),
              "rank 1 on node n2 makes no progress in forward, nor does any other, the last "
              "progress was 17 s ago");
}

TEST(Stall, OneRankThatMovesIsProgress) {
    auto ranks = four();
    ranks[3].status.quiet = Seconds{14};
    EXPECT_EQ(stall_cause(ranks), std::nullopt);
}

TEST(Stall, LongPausesThatAreUsualAreWaitedForThreeTimes) {
    auto ranks = four();
    ranks[0].status.longest_quiet = Seconds{6};
    EXPECT_EQ(stall_cause(ranks), std::nullopt) << "17.4 s is below 3 x 6 s";
    for (WatchedRank& rank : ranks)
        rank.status.quiet = Seconds{18.5};
    EXPECT_NE(stall_cause(ranks), std::nullopt);
}

TEST(Stall, TheFirstStepMayTakeAMinute) {
    auto ranks = four();
    ranks[0].status.step = 0;
    EXPECT_EQ(stall_cause(ranks), std::nullopt);
    for (WatchedRank& rank : ranks)
        rank.status.quiet = Seconds{61};
    EXPECT_NE(stall_cause(ranks), std::nullopt);
}

TEST(Stall, RanksThatHaveEndedAreNotQuiet) {
    auto ranks = four();
    ranks[0].status.exited = true;
    ranks[0].status.quiet = Seconds{0};
    EXPECT_NE(stall_cause(ranks), std::nullopt);
    for (WatchedRank& rank : ranks)
        rank.status.exited = true;
    EXPECT_EQ(stall_cause(ranks), std::nullopt);
}

struct Quiet : Pair {
    Quiet() : Pair(retried_spec()) { run(); }
    void quiet(const std::string& node, int rank) { report(node, waiting(rank)); }
};

TEST(Stall, EndsTheAttemptAndItsJobIsTriedAgain) {
    Quiet world;
    world.quiet("a", 0);
    world.quiet("b", 1);
    EXPECT_EQ(due_times(world.state, world.now).stalls.size(), 1u);
    const auto stops = commands<StopAttempt>(world.wait({1}));
    ASSERT_EQ(stops.size(), 2u);
    EXPECT_EQ(stops[0].mode, StopMode::now);
    world.report("a", ended(0, kRankLostPeer), Left::no);
    world.report("b", ended(1, kRankLostPeer), Left::no);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::stall);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("attempt 1 failed (stall): rank"), std::string::npos);
}

TEST(Stall, IsNotJudgedWhileARankIsOutOfSight) {
    Quiet world;
    world.quiet("a", 0);
    world.quiet("b", 1);
    world.session_down("b");
    world.wait({1});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Stall, IsNotJudgedBeforeEveryRankTrains) {
    Pair world(retried_spec());
    RankStatus starting{.rank = 0, .running = true, .quiet = Seconds{300}};
    world.report("a", starting);
    starting.rank = 1;
    world.report("b", starting);
    world.wait({1});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
}

}  // namespace
}  // namespace rm::test
