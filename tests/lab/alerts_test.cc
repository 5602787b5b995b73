// Alerts about what breaks, each fired once.
#include <sys/mount.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/lab/alert_lab.h"

namespace rm::lab {
namespace {

// The memory that programs find which start from now on. This thread must see mounts of its own.
class MemorySaid {
public:
    explicit MemorySaid(const std::string& file) : file_(file) {
        say(0.5);
        mounted_ = mount(file.c_str(), kPlace, nullptr, MS_BIND, nullptr) == 0;
    }
    ~MemorySaid() {
        if (mounted_) umount2(kPlace, MNT_DETACH);
    }
    bool works() const { return mounted_; }
    void say(double available) const {
        constexpr std::int64_t kTotal = 64 << 20;  // kB
        std::fstream(file_, std::ios::in | std::ios::out | std::ios::app).close();
        std::fstream(file_, std::ios::in | std::ios::out)
            << format("MemTotal:       {:12} kB\nMemAvailable:   {:12} kB\n", kTotal,
                      static_cast<std::int64_t>(available * kTotal));
    }

private:
    static constexpr const char* kPlace = "/proc/meminfo";
    const std::string file_;
    bool mounted_ = false;
};

class Alerts : public AlertLab {
protected:
    void survey() { EXPECT_EQ(there({"survey", "--wait"}).code, 0); }
};

TEST_F(Alerts, PageForALossThatIsNotANumber) {
    start_workers(2);
    drill_->run({{.alert = "RingmasterLossNotFinite",
                  .what = "a learning rate of 1e30",
                  .happen =
                      [&] {
                          submit_job({.stages = "  - {context: 256, batch: 512, tokens: 51200000, "
                                                "learning_rate: 1e30}\n",
                                      .extra = "optimizer: {max_skipped: 1000000}\n"});
                      },
                  .end =
                      [&] {
                          there({"cancel", "--now", job_});
                      },
                  .minutes = 5}});
}

TEST_F(Alerts, PageForARunThatStandsStillAndForTheControllerThatWouldEndIt) {
    train();
    const std::vector<pid_t> pids = ranks();
    drill_->run({{.alert = "RingmasterControllerDown",
                  .what = "the controller is killed",
                  .happen = [&] { controller_->signal(SIGKILL); },
                  .end = [&] { start_controller(); },
                  .minutes = 2},
                 {.alert = "RingmasterRunStalled",
                  .what = "rank 0's process is stopped meanwhile",
                  .happen = [&] { kill(pids[0], SIGSTOP); },
                  .end = [&] { kill(pids[0], SIGCONT); },
                  .minutes = 11}});
    // Under the controller that was started again.
    reaches_step(last_step() + 5);
}

TEST_F(Alerts, SpeakOfALinkThatBecameSlow) {
    start_workers(3);
    survey();
    drill_->run({{.alert = "RingmasterLinkDegraded",
                  .what = "a node's network falls to 150 of 400 Mbit/s",
                  .happen =
                      [&] {
                          lab_->set_host_rate("n1", {150});
                          survey();
                      },
                  .end =
                      [&] {
                          lab_->set_host_rate("n1", kFastest);
                          survey();
                      },
                  .minutes = 1}});
}

class AlertsOfASmallDisk : public Alerts {
protected:
    void SetUp() override { set_up({"n0", "n1", "kept"}); }
};

TEST_F(AlertsOfASmallDisk, PageAndSayThatCheckpointsAreLate) {
    train(format("checkpoint: {{dir: {}, every: 50 steps, keep: 2}}\n", path("kept")));
    std::atomic<bool> full{true};
    std::thread filler;
    drill_->run({{.alert = "RingmasterDiskFull",
                  .what = "the disk of two workers is full",
                  .happen =
                      [&] {
                          filler = std::thread([&] {
                              for (; full; e2e::sleep(Seconds{0.2}))
                                  disk_->fill();
                          });
                      },
                  .end =
                      [&] {
                          full = false;
                          filler.join();
                          disk_->empty();
                      },
                  .minutes = 5},
                 {.alert = "RingmasterCheckpointOverdue",
                  .what = "checkpoints go to it, too",
                  .minutes = 11}});
}

TEST_F(AlertsOfASmallDisk, SpeakOfNodesThatAreLostOrSilentOrFullAndOfJobsThatWait) {
    const MemorySaid memory(path("meminfo"));
    ASSERT_TRUE(memory.works());
    start_workers(4);
    drill_->run({{.alert = "RingmasterNodeLost",
                  .what = "a worker is killed",
                  .happen = [&] { workers_["n1"]->signal(SIGKILL); },
                  .end = [&] { start_worker("n1"); },
                  .minutes = 2},
                 {.alert = "RingmasterTargetDown",
                  .what = "a firewall drops its metrics port",
                  .happen = [&] { lab_->block_ports("n2", kWorkerHttp, kWorkerHttp); },
                  .end = [&] { lab_->open_ports("n2", kWorkerHttp, kWorkerHttp); },
                  .minutes = 5},
                 {.alert = "RingmasterHostMemoryExhausting",
                  .what = "a node has 3 % of its memory left",
                  .happen = [&] { memory.say(0.03); },
                  .end = [&] { memory.say(0.5); },
                  .minutes = 5},
                 {.alert = "RingmasterQueueStuck",
                  .what = "a job needs two devices, one is free",
                  .happen =
                      [&] {
                          for (const char* node : {"n2", "n3"})
                              EXPECT_EQ(there({"drain", node}).code, 0);
                          submit_job({.stages = kEndless});
                      },
                  .end =
                      [&] {
                          EXPECT_EQ(there({"resume", "n3"}).code, 0);
                      },
                  .minutes = 45}});
}

}  // namespace
}  // namespace rm::lab
