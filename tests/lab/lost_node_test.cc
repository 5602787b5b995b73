// Daemon, shim and ranks of a machine are gone.
#include <algorithm>
#include <csignal>

#include "tests/lab/lab_cluster.h"

namespace rm::lab {
namespace {

class LostNode : public LabCluster {
protected:
    // Kills the worker, shim and rank for good.
    void lose(const std::string& host, std::int64_t epoch) {
        const Json shim = attempt_file(host, epoch, "shim.json");
        const pid_t shim_pid = shim["pid"];
        const pid_t rank_pid = shim["ranks"][0]["pid"];
        e2e::sleep(e2e::chosen_delay());
        workers_[host]->signal(SIGKILL);
        kill(shim_pid, SIGKILL);
        kill(rank_pid, SIGKILL);
        workers_[host]->wait(Seconds{5});
        workers_.erase(host);
    }
    std::size_t num_attempts() { return job()["attempts"].size(); }
};

TEST_F(LostNode, ItsAttemptIsTriedAgainOnWhatIsLeftUntilTooLittleIsLeft) {
    start_workers(3);
    submit_job({.stages = kEndless,
                .extra = "checkpoint: {every: 10 steps}\nretry: {max: 3, lost_after: 5 s}\n"});
    ASSERT_TRUE(reaches_step(12));
    const std::string victim = hosts_of(0)[1];
    lose(victim, 1);
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return num_attempts() == 2; })) << job().dump(2);
    const Json first = job()["attempts"][0];
    say(first["state"].get<std::string>() + ": " + first["cause"].get<std::string>());
    EXPECT_NE(first["cause"].get<std::string>(), "");
    const auto hosts = hosts_of(1);
    EXPECT_EQ(std::count(hosts.begin(), hosts.end(), victim), 0) << "it may still train there";
    const std::int64_t saved = first.value("lastCheckpointStep", std::int64_t{0});
    EXPECT_GE(saved, 10);
    ASSERT_TRUE(reaches_step(saved + 15));

    lose(hosts[0], 2);
    ASSERT_TRUE(reaches_state("pending"));
    EXPECT_EQ(num_attempts(), 2u);
    std::string told;
    EXPECT_TRUE(e2e::wait_until(Seconds{20}, [&] {
        told = there({"explain", job_}).out;
        return told.find(victim) != std::string::npos && told.find(hosts[0]) != std::string::npos;
    }));
    say(told);
    EXPECT_EQ(there({"cancel", job_}).code, 0);
    ASSERT_TRUE(reaches_state("cancelled"));
}

}  // namespace
}  // namespace rm::lab
