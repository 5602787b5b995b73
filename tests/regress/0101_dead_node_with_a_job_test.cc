#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

// A node that died with a job kept its devices busy for the lost attempt, and busy devices counted
// as ones that a job may get later: a job that waited for all eight nodes kept seven idle ones from
// all younger jobs until an operator declared the eighth gone.
namespace rm::test {
namespace {

class Regress0101 : public World, public testing::Test {
protected:
    Regress0101() {
        for (int i = 0; i < 8; ++i)
            hello(format("n{}", i), 1);
        lost_ = submit(small_spec(ring(1)));
        plan(lost_, {"n7"});
        status("n7", of_lost());
        wide_ = submit(small_spec(ring(8)));
    }
    AttemptStatus of_lost() const {
        return status_of(epoch_of(lost_), lost_, {training(0)}, Left::yes);
    }
    void let_n7_die() {
        session_down("n7");
        wait({61});
        EXPECT_TRUE(asks_for_plan(apply(NodeUnreachable{{"n7"}}))) << "what was hoped for has gone";
    }
    std::variant<Plan, Reasons> decide(const JobId& id) const {
        for (PlanDecision& decision : plan_jobs(planning_snapshot(state, now))) {
            if (decision.job == id) return decision.decision;
        }
        return {};
    }
    std::string reason_now(const JobId& id) const { return texts_of(decide(id)).front(); }

    JobId lost_;
    JobId wide_;
};

TEST_F(Regress0101, ANodeThatDiedWithAJobFreezesNoQueue) {
    EXPECT_EQ(reason_now(wide_), format("needs 8 cpu devices, 7 are free of 8 (1 busy with job "
                                        "{}); fits when 1 more is free",
                                        lost_));
    let_n7_die();
    wait({3700});
    ASSERT_EQ(attempt(lost_).state, AttemptState::lost);
    EXPECT_TRUE(device_holders(state).contains({{"n7"}, 0})) << "its rank may still train";
    EXPECT_EQ(reason_now(wide_),
              "needs 8 cpu devices, 7 are free of 8 (1 on workers without a session); add 1 cpu "
              "device or ask for at most 7");
    const JobId narrow = submit(small_spec(ring(7)));
    ASSERT_TRUE(std::holds_alternative<Plan>(decide(narrow)));
    const auto placement = std::get<Plan>(decide(narrow)).placement;
    for (const DeviceId& device : placement)
        EXPECT_NE(device.node, NodeId{"n7"});
}

TEST_F(Regress0101, WhenItComesBackWithItsRankTheQueueWaitsForItAgain) {
    let_n7_die();
    wait({3700});
    const JobId narrow = submit(small_spec(ring(1)));
    hello("n7", 1, {of_lost()});
    EXPECT_EQ(reason_now(wide_),
              format("needs 8 cpu devices, 7 are free of 8 (1 busy with what may be left of "
                     "attempt {}); fits when 1 more is free",
                     epoch_of(lost_)));
    EXPECT_NE(reason_now(narrow).find("cpu devices are kept for job " + wide_.value),
              std::string::npos);
}

}  // namespace
}  // namespace rm::test
