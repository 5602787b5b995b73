#include "tests/controller/world.h"

// A rank that the kernel killed for lack of memory looked like any other that a signal ended: its
// job was retried with the same plan, until retry.max.
namespace rm::test {
namespace {

struct Regress0071 : World, testing::Test {
    JobId id;
    void SetUp() override {
        hello("a", 1);
        hello("b", 1);
        id = submit(retried_spec(3, ring(2)));
        plan(id, {"a", "b"});
    }
    void report(const std::string& node, RankStatus rank, Left left) {
        status(node, status_of(epoch_of(id), id, {std::move(rank)}, left));
    }
    // A rank that a signal killed, as its shim reports it.
    static RankStatus killed(int rank, int code, const std::string& words) {
        RankStatus status = ended(rank, code, words);
        status.exit_signal = 9;
        return status;
    }
};

TEST_F(Regress0071, ItsJobFailsAndSaysSo) {
    report("b", killed(1, kRankOutOfMemory, "killed by the kernel"), Left::no);
    report("a", killed(0, 0, "ended by signal 9 (KILL): stopped"), Left::no);
    EXPECT_EQ(attempt(id).failure_class, FailureClass::out_of_memory);
    EXPECT_EQ(job(id).state, JobState::failed);
    EXPECT_EQ(job(id).failure, "rank 1: killed by the kernel");
}

TEST_F(Regress0071, TheLostPeerThatIsHeardOfFirstIsNotTheCause) {
    report("a", ended(0, kRankLostPeer, "rank 1 is gone"), Left::no);
    report("b", killed(1, kRankOutOfMemory, "killed by the kernel"), Left::no);
    EXPECT_EQ(attempt(id).failure_class, FailureClass::out_of_memory);
    EXPECT_EQ(job(id).state, JobState::failed);
}

TEST_F(Regress0071, AnySignalElseIsTriedAgain) {
    report("b", killed(1, kRankFailed, "ended by signal 9 (KILL)"), Left::no);
    report("a", killed(0, 0, "ended by signal 9 (KILL): stopped"), Left::no);
    EXPECT_EQ(job(id).state, JobState::pending);
}

}  // namespace
}  // namespace rm::test
