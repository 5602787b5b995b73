// Alerts about the speed of runs: silent while a run is healthy, and loud when it is not.
#include <atomic>
#include <thread>

#include "tests/lab/alert_lab.h"

namespace rm::lab {
namespace {

// Programs that get a third of the time: as on a GPU that a neighbour heats.
class Slowed {
public:
    explicit Slowed(std::vector<pid_t> pids)
        : pids_(std::move(pids)), thread_([this] { work(); }) {}
    ~Slowed() {
        ended_ = true;
        thread_.join();
    }

private:
    void signal_all(int number) const {
        for (const pid_t pid : pids_)
            kill(pid, number);
    }
    void work() {
        while (!ended_) {
            signal_all(SIGSTOP);
            e2e::sleep(Seconds{0.02});
            signal_all(SIGCONT);
            e2e::sleep(Seconds{0.01});
        }
    }

    const std::vector<pid_t> pids_;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

class AlertsOfRuns : public AlertLab {
protected:
    std::unique_ptr<Slowed> slowed_;
};

TEST_F(AlertsOfRuns, AreSilentWhileOneIsHealthyAndFireWhenItIsNot) {
    train("checkpoint: {every: 200 steps, keep: 2}\n");
    const Seconds healthy = drill_->patience.minutes(10);
    EXPECT_EQ(drill_->watch(healthy), std::set<std::string>{"RingmasterWatchdog"});
    const Json watchdog = drill_->alertmanager().firing("RingmasterWatchdog")[0];
    EXPECT_EQ(watchdog["labels"]["severity"], "info");
    EXPECT_EQ(watchdog["annotations"]["runbook_url"], "docs/runbooks/RingmasterWatchdog.md");
    say(format("healthy for {:.0f} s, {} steps: nothing but the watchdog", healthy.value,
               last_step()));
    drill_->run({{.alert = "RingmasterMfuDrop",
                  .what = "all ranks get a third of the time",
                  .happen = [&] { slowed_ = std::make_unique<Slowed>(ranks()); },
                  .end = [&] { slowed_.reset(); },
                  .minutes = 10}});
    drill_->run({{.alert = "RingmasterStraggler",
                  .what = "one rank's process gets a third of the time",
                  .happen = [&] { slowed_ = std::make_unique<Slowed>(std::vector{ranks()[1]}); },
                  .end = [&] { slowed_.reset(); },
                  .minutes = 4}});
}

}  // namespace
}  // namespace rm::lab
