#include "tests/controller/pair.h"

// retry.max counted over the whole life of a job: four failures in a month ended it, however much
// it had trained in between.
namespace rm::test {
namespace {

struct Long : Pair {
    Long() : Pair(retried_spec()) {}
    // An attempt that trains for a day up to a checkpoint of this step, and then loses a rank.
    void live_a_day(std::int64_t checkpoint) {
        run();
        wait({43200});
        AttemptStatus status = status_of(epoch, id, {training(0)}, Left::yes);
        status.checkpoint_step = checkpoint;
        status.checkpoint_path = format("/ckpt/e{}-s{}", epoch, checkpoint);
        if (checkpoint > 0) this->status("a", status);
        for (int hour = 0; hour < 12; ++hour) {
            report("b", training(1));
            wait({1500});
        }
        fail(1, "a bit flipped");
    }
    void again() {
        wait({61});
        start();
    }
};

JobSpec patient() {
    JobSpec spec = retried_spec();
    spec.retry.lost_after = Seconds{1e6};
    return spec;
}

TEST(Regress0020, FailuresADayApartDoNotEndAJob) {
    Long world;
    const JobSpec spec = patient();
    world.state.jobs.at(world.id).spec.retry = spec.retry;
    for (int day = 1; day <= 10; ++day) {
        ASSERT_EQ(world.job(world.id).state, JobState::starting) << "day " << day;
        world.live_a_day(100 * day);
        ASSERT_EQ(world.job(world.id).state, JobState::pending) << "day " << day;
        EXPECT_NE(world.reason(world.id).find("retry 1 of 3"), std::string::npos)
            << world.reason(world.id);
        EXPECT_EQ(world.job(world.id).retry_at - world.now, Seconds{1}) << "the backoff is new";
        world.again();
    }
}

TEST(Regress0020, WithoutANewCheckpointTheyDo) {
    Long world;
    world.state.jobs.at(world.id).spec.retry = patient().retry;
    world.live_a_day(100);
    for (int retry = 1; retry <= 3; ++retry) {
        ASSERT_EQ(world.job(world.id).state, JobState::pending);
        world.again();
        world.live_a_day(retry == 2 ? 100 : 0);  // written again: no progress
    }
    EXPECT_EQ(world.job(world.id).state, JobState::failed);
    EXPECT_EQ(world.job(world.id).failure, "rank 1: a bit flipped (attempt 4)");
}

}  // namespace
}  // namespace rm::test
