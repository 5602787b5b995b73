// Where the wall time of a job goes, through real daemons: a slow disk, a rank that stands still
// for a while, one that is killed, and a node that is drained.
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "tests/e2e/support/daemons.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

constexpr int kSteps = 900;  // longer than all that disturbs them

class Goodput : public Daemons {
protected:
    Goodput() : Daemons(3) {}
    void SetUp() override {
        start_controller({"--http", "127.0.0.1:0"});
        for (const char* name : {"w0", "w1", "w2"})
            start_worker_on_a_slow_disk(name);
    }
    void start_worker_on_a_slow_disk(const std::string& name) {
        workers_[name] =
            start({"/usr/bin/env", "RM_FAULTS=checkpoint.slow_write,checkpoint.slow_read",
                   program("ringmaster-worker"), "--state", path(name), "--controller", address_,
                   "--devices", "cpu:1", "--http", "none", "--orphan", "stop", "--slots-on-machine",
                   num_slots_});
    }
    bool reaches_step(std::int64_t step) {
        return wait_until(Seconds{90}, [&] {
            const Json shown = job();
            return shown.is_object() && shown.contains("lastStep") &&
                   shown["lastStep"].is_object() &&
                   shown["lastStep"].value("step", std::int64_t{0}) >= step;
        });
    }
    bool trains_in_attempt(std::size_t count) {
        return wait_until(Seconds{90}, [&] {
            const Json attempts = job().value("attempts", Json::array());
            return attempts.size() == count && attempts.back().contains("lastStep");
        });
    }
    // The node of a rank in the newest attempt.
    std::string node_of(std::size_t rank) {
        return job()["attempts"].back()["placement"][rank]["nodeId"];
    }
    pid_t rank_process(std::size_t rank) {
        const Json attempt = job()["attempts"].back();
        const std::string node = attempt["placement"][rank]["nodeId"];
        for (const auto& [name, worker] : workers_) {
            const Json self = Json::parse(read_file(path(name + "/worker.json")));
            if (self["node_id"] != node) continue;
            const int epoch = attempt["epoch"];
            const std::string file = path(format("{}/attempts/e{}/shim.json", name, epoch));
            return Json::parse(read_file(file))["ranks"][0]["pid"];
        }
        ADD_FAILURE() << "no worker is " << node;
        return 0;
    }
    // Seconds by cause, and `good`, as the controller exports them.
    std::map<std::string, double> times() const {
        const std::string http = Json::parse(read_file(path("c/controller.json")))["http"];
        std::istringstream page(http_get(http, "/metrics"));
        std::map<std::string, double> seconds;
        for (std::string line; std::getline(page, line);) {
            if (line.find("run=\"" + job_ + "\"") == std::string::npos) continue;
            const double value = std::stod(line.substr(line.rfind(' ')));
            if (line.starts_with("ringmaster_train_goodput_seconds_total{"))
                seconds["good"] = value;
            if (!line.starts_with("ringmaster_train_badput_seconds_total{")) continue;
            const std::size_t cause = line.find("cause=\"") + 7;
            seconds[line.substr(cause, line.find('"', cause) - cause)] = value;
        }
        return seconds;
    }
    static double sum(const std::map<std::string, double>& times) {
        double all = 0;
        for (const auto& [cause, seconds] : times)
            all += seconds;
        return all;
    }
};

double seconds_of(const std::string& text) {
    std::tm time{};
    const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    return static_cast<double>(timegm(&time)) + (*rest == '.' ? std::stod(rest) : 0);
}

TEST_F(Goodput, AndBadputByCauseAddUpToTheWallTimeOfAJob) {
    submit_job(
        {.stages = format("  - {{context: 256, batch: 512, tokens: {}, learning_rate: 1e-3}}\n",
                          512 * kSteps),
         .extra = format("checkpoint: {{dir: {}, every: 150 steps}}\nretry: {{max: 5}}\n",
                         path("kept"))});
    ASSERT_TRUE(reaches_step(130)) << job().dump(2);
    const pid_t stopped = rank_process(1);
    kill(stopped, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(4));
    kill(stopped, SIGCONT);
    ASSERT_TRUE(reaches_step(220)) << job().dump(2);
    kill(rank_process(0), SIGKILL);
    ASSERT_TRUE(trains_in_attempt(2)) << job().dump(2);
    ASSERT_EQ(there({"drain", node_of(1)}).code, 0);
    ASSERT_TRUE(wait_until(Seconds{120}, [&] { return job().value("state", "") == "succeeded"; }))
        << job().dump(2);
    const Json done = job();
    ASSERT_EQ(done["attempts"].size(), 3u) << done.dump(2);
    const double wall = seconds_of(done["ended"]) - seconds_of(done["submitted"]);
    std::map<std::string, double> seconds;
    EXPECT_TRUE(wait_until(Seconds{30},
                           [&] {
                               seconds = times();
                               return std::abs(sum(seconds) - wall) < 0.01 * wall;
                           }))
        << "wall time " << wall << " s, parts " << sum(seconds) << " s";
    std::cout << format("wall {:.3} s:", wall);
    for (const auto& [cause, part] : seconds)
        std::cout << format(" {} {:.3}", cause, part);
    std::cout << std::endl;
    EXPECT_EQ(seconds.size(), 9u) << "good and every cause";
    EXPECT_GT(seconds["good"], 1);
    EXPECT_NEAR(seconds["stall"], 4, 1.5) << "a rank stood still";
    EXPECT_GT(seconds["checkpoint"], 0.3) << "the disk is slow";
    EXPECT_GT(seconds["restore"], 0.1) << "two attempts have read a checkpoint";
    EXPECT_GT(seconds["recomputed"], 0) << "the killed attempt had steps after its checkpoint";
    EXPECT_GT(seconds["start"], 0.1);
    EXPECT_GT(seconds["queue"], 0.5) << "a failed job is tried again after a while";
}

}  // namespace
}  // namespace rm::e2e
