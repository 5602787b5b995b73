// Paths between the real daemons are cut while they train.
#include <csignal>
#include <set>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/directory.h"
#include "tests/lab/lab_cluster.h"

namespace rm::lab {
namespace {

class CutOff : public LabCluster {
protected:
    std::size_t num_attempts() { return job()["attempts"].size(); }
    // The last step in the log that a rank of the attempt writes on the host's disk.
    std::int64_t step_on_disk(const std::string& host, std::int64_t epoch, int rank) {
        const auto steps = steps_in(
            e2e::read_file(path(format("{}/attempts/e{}/rank-{}.log", host, epoch, rank))));
        return steps.empty() ? 0 : steps.back();
    }
    std::string explained() { return there({"explain", job_}).out; }
};

TEST_F(CutOff, AWorkerThatReachesItsPeersButNotTheControllerTrainsOn) {
    start_workers(2);
    submit_job({.stages = kEndless});
    ASSERT_TRUE(reaches_step(5));
    // The host of rank 0, which also reports steps to the controller.
    const std::string host = hosts_of(0)[0];
    lab_->cut("desk", host);
    ASSERT_TRUE(e2e::wait_until(Seconds{40}, [&] { return !has_session(host); }));
    const std::string told = explained();
    say(told);
    EXPECT_NE(told.find("node " + host), std::string::npos) << told;
    EXPECT_NE(told.find("has had no session for"), std::string::npos) << told;
    EXPECT_NE(told.find("training continues"), std::string::npos) << told;
    const std::int64_t then = step_on_disk(host, 1, 0);
    EXPECT_TRUE(e2e::wait_until(Seconds{20}, [&] { return step_on_disk(host, 1, 0) > then + 20; }));
    lab_->heal("desk", host);
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return has_session(host); }));
    EXPECT_EQ(explained().find("no session"), std::string::npos);
    const std::int64_t healed = step_on_disk(host, 1, 0);
    ASSERT_TRUE(reaches_step(healed + 20));
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
    EXPECT_EQ(num_attempts(), 1u) << job().dump(2);
    expect_whole_logs();
}

TEST_F(CutOff, AnAttemptNobodyHearsOfIsTriedElsewhereAndStoppedWhenItComesBack) {
    start_workers(4);
    submit_job({.stages = kEndless,
                .extra = format("checkpoint: {{dir: {}, every: 10 steps, keep: 2}}\n"
                                "retry: {{max: 3, lost_after: 4 s}}\n",
                                path("ckpt"))});
    ASSERT_TRUE(reaches_step(12));
    const auto first = hosts_of(0);
    for (const std::string& host : first)
        lab_->cut("desk", host);
    ASSERT_TRUE(e2e::wait_until(Seconds{40}, [&] { return num_attempts() == 2; }));
    const auto second = hosts_of(1);
    for (const std::string& host : first)
        EXPECT_EQ(std::count(second.begin(), second.end(), host), 0) << host << " is not free";
    EXPECT_EQ(job()["attempts"][0]["state"], "lost");
    say(job()["attempts"][0]["cause"]);

    const std::int64_t cut_off = step_on_disk(first[0], 1, 0);
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] {
        const Json attempt = job()["attempts"][1];
        return attempt.value("lastCheckpointStep", std::int64_t{0}) > 0;
    })) << job().dump(2);
    ASSERT_TRUE(e2e::wait_until(Seconds{40}, [&] { return !has_session(first[0]); }));
    EXPECT_GT(step_on_disk(first[0], 1, 0), cut_off + 20) << "the first trains on, unheard";
    const pid_t shim = attempt_file(first[0], 1, "shim.json")["pid"];
    EXPECT_EQ(kill(shim, 0), 0);

    for (const std::string& host : first)
        lab_->heal("desk", host);
    EXPECT_TRUE(e2e::wait_until(Seconds{60}, [&] { return kill(shim, 0) != 0; }))
        << "it is stopped";
    const std::int64_t then = last_step();
    EXPECT_TRUE(reaches_step(then + 12)) << "the second goes on";
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
    EXPECT_EQ(num_attempts(), 2u) << job().dump(2);

    const std::string last = job()["attempts"][1]["lastCheckpointPath"];
    const std::string directory = std::filesystem::path(last).parent_path();
    const auto listing = list_checkpoints(directory).value();
    std::set<std::int64_t> epochs;
    for (const CheckpointName& name : listing.checkpoints) {
        epochs.insert(name.epoch.value);
        const auto verified = verify_checkpoint(directory + "/" + to_string(name), Verify::hashes);
        EXPECT_TRUE(verified) << to_string(name) << ": " << verified.error().message;
        say("verified: " + to_string(name));
    }
    // Those of the first attempt may be pruned by now.
    EXPECT_TRUE(epochs.contains(2));
    EXPECT_TRUE(listing.temporary.empty());
}

}  // namespace
}  // namespace rm::lab
