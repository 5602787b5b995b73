// An older backup takes the place of the database while ranks run.
#include <csignal>

#include "tests/lab/lab_cluster.h"

namespace rm::lab {
namespace {

class Restore : public LabCluster {
protected:
    void back_up() {
        const Finished run = there({"backup", path("backup.db")});
        ASSERT_EQ(run.code, 0) << run.err;
    }
    void restore() {
        stop_controller();
        const Finished run = this->run({program("ringmaster-controller"), "--state", path("c"),
                                        "--restore", path("backup.db")});
        ASSERT_EQ(run.code, 0) << run.err;
        say(run.out);
        start_controller();
    }
    pid_t rank_process(const std::string& host, std::int64_t epoch) {
        return attempt_file(host, epoch, "shim.json")["ranks"][0]["pid"];
    }
    bool runs_attempt(std::size_t number) {
        return e2e::wait_until(Seconds{60}, [&] {
            const Json shown = job();
            if (!shown.contains("attempts") || shown["attempts"].size() != number) return false;
            return shown["attempts"].back().value("state", "") == "running";
        });
    }
};

TEST_F(Restore, AJobTheBackupDoesNotKnowGoesOnIsListedAndCanBeCancelled) {
    start_workers(2);
    ASSERT_NO_FATAL_FAILURE(back_up());
    submit_job({.stages = kEndless});
    ASSERT_TRUE(reaches_step(5));
    const std::string host = hosts_of(0)[0];
    const pid_t rank = rank_process(host, 1);
    ASSERT_NO_FATAL_FAILURE(restore());
    ASSERT_TRUE(runs_attempt(1)) << there({"ls", "-o", "wide"}).out;
    EXPECT_EQ(kill(rank, 0), 0) << "adopted, not started again";
    EXPECT_NE(there({"ls", "-o", "name"}).out.find(job_), std::string::npos);
    const Finished shown = there({"show", job_});
    EXPECT_NE(shown.out.find("recovered"), std::string::npos) << shown.out;
    ASSERT_TRUE(reaches_step(last_step() + 20));
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
    EXPECT_GT(job()["attempts"][0].value("lastCheckpointStep", std::int64_t{0}), 5);
    EXPECT_TRUE(e2e::wait_until(Seconds{20}, [&] { return kill(rank, 0) != 0; }));
}

TEST_F(Restore, AJobTheBackupKnowsByAnOlderAttemptGoesOnInItsNewest) {
    start_workers(2);
    submit_job({.stages = kEndless, .extra = "checkpoint: {every: 10 steps}\n"});
    ASSERT_TRUE(reaches_step(12));
    ASSERT_NO_FATAL_FAILURE(back_up());
    kill(rank_process(hosts_of(0)[0], 1), SIGKILL);
    ASSERT_TRUE(runs_attempt(2)) << job().dump(2);
    const std::string host = hosts_of(1)[0];
    const pid_t rank = rank_process(host, 2);
    ASSERT_NO_FATAL_FAILURE(restore());
    ASSERT_TRUE(runs_attempt(2)) << job().dump(2);
    EXPECT_EQ(kill(rank, 0), 0) << "adopted, not started again";
    const Json attempts = job()["attempts"];
    EXPECT_EQ(attempts[0]["state"], "lost");
    EXPECT_EQ(attempts[0]["cause"], "replaced by attempt 2");
    kill(rank, SIGKILL);
    ASSERT_TRUE(runs_attempt(3)) << job().dump(2);
    const std::int64_t epoch = job()["attempts"][2]["epoch"];
    EXPECT_GT(epoch, 2) << "no epoch is given twice";
    ASSERT_TRUE(reaches_step(last_step() + 5));
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
}

}  // namespace
}  // namespace rm::lab
