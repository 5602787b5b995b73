// The disk of a daemon is full while a job runs.
#include <csignal>

#include "tests/lab/lab_cluster.h"
#include "tests/support/small_disk.h"

namespace rm::lab {
namespace {

class FullDisk : public LabCluster {
protected:
    void SetUp() override {}  // the disk comes first
    ~FullDisk() override { stop_all(); }

    // The state directory `name` on 64 MiB that only this test and its daemons see.
    void set_up_with_small(const std::string& name) {
        if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
        disk_ = std::make_unique<SmallDisk>();
        if (!disk_->why_not().empty()) GTEST_SKIP() << disk_->why_not();
        keep_on(*disk_, name);
        LabCluster::SetUp();
    }

    std::unique_ptr<SmallDisk> disk_;
};

TEST_F(FullDisk, OfTheControllerRefusesJobsAndLosesNothingOfTheOneThatRuns) {
    set_up_with_small("c");
    if (IsSkipped() || HasFatalFailure()) return;
    start_workers(2);
    // Checkpoints go to another disk: on the full one they would be removed and free space.
    submit_job({.stages = kEndless,
                .extra = format("checkpoint: {{dir: {}, every: 10 steps}}\n", path("ckpt"))});
    ASSERT_TRUE(reaches_step(12));
    disk_->fill();
    const Finished refused = there({"submit", write_job({}, "other.yaml")});
    EXPECT_EQ(refused.code, 4) << refused.err;
    EXPECT_NE(refused.err.find("takes no new jobs below"), std::string::npos) << refused.err;
    say(refused.err);
    // The end of an attempt and the launch of the next are control writes.
    kill(rank_process(hosts_of(0)[1], 1), SIGKILL);
    EXPECT_TRUE(e2e::wait_until(Seconds{30}, [&] { return job()["attempts"].size() == 2; }));
    disk_->empty();
    EXPECT_TRUE(e2e::wait_until(Seconds{30}, [&] {
        return job()["attempts"].back().value("state", "") == "running";
    })) << job().dump(2);
    ASSERT_TRUE(reaches_step(last_step() + 10));
    const Finished taken = there({"submit", write_job({}, "other.yaml")});
    EXPECT_EQ(taken.code, 0) << taken.err;
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
    stop_controller();
    start_controller();
    EXPECT_EQ(job()["attempts"].size(), 2u);
    EXPECT_EQ(state(), "cancelled");
}

TEST_F(FullDisk, OfAWorkerDoesNotStopTraining) {
    set_up_with_small("n1");
    if (IsSkipped() || HasFatalFailure()) return;
    start_workers(2);
    submit_job({.stages = kEndless, .extra = format("checkpoint: {{dir: {}}}\n", path("ckpt"))});
    ASSERT_TRUE(reaches_step(5));
    disk_->fill();
    const std::int64_t then = last_step();
    ASSERT_TRUE(e2e::wait_until(Seconds{30}, [&] { return last_step() > then + 40; }))
        << job().dump(2);
    disk_->empty();
    ASSERT_TRUE(reaches_step(last_step() + 20));
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
    const Json shown = job();
    EXPECT_EQ(shown["attempts"].size(), 1u) << shown.dump(2);
    EXPECT_GT(shown["attempts"][0].value("lastCheckpointStep", std::int64_t{0}), then);
}

}  // namespace
}  // namespace rm::lab
