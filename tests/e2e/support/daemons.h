#pragma once

#include <csignal>
#include <map>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {

// A controller and workers of one slot each, every daemon a process of its own, as on a cluster:
// ranks outlive the worker that started them. At most one job.
class Daemons : public E2eTest {
protected:
    // `num_slots`: the workers that share this machine.
    explicit Daemons(int num_slots) : num_slots_(format("{}", num_slots)) {}
    ~Daemons() override {
        if (controller_ && !job_.empty()) there({"cancel", "--now", job_});
        for (auto& [name, worker] : workers_)
            worker->signal(SIGTERM);
        for (auto& [name, worker] : workers_)
            worker->wait(Seconds{30});
        if (controller_) controller_->signal(SIGTERM);
        if (controller_) controller_->wait(Seconds{30});
    }
    void start_controller(const std::vector<std::string>& flags = {"--http", "none"}) {
        std::vector<std::string> words = {program("ringmaster-controller"), "--state", path("c"),
                                          "--listen", address_};
        words.insert(words.end(), flags.begin(), flags.end());
        controller_ = start(words);
        EXPECT_TRUE(wait_until(Seconds{30}, [&] { return there({"ls"}).code == 0; }));
    }
    void start_worker(const std::string& name) {
        workers_[name] = start({program("ringmaster-worker"), "--state", path(name), "--controller",
                                address_, "--devices", "cpu:1", "--http", "none", "--orphan",
                                "stop", "--slots-on-machine", num_slots_});
    }
    Finished there(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", address_});
        return cli(std::move(arguments));
    }
    void submit_job(const JobText& text) {
        const Finished submitted = there({"submit", write_job(text)});
        ASSERT_EQ(submitted.code, 0) << submitted.err;
        job_ = submitted.out.substr(0, submitted.out.find('\n'));
    }
    Json job() { return Json::parse(there({"show", job_, "-o", "json"}).out, nullptr, false); }

    const std::string num_slots_;
    const std::string address_ = "unix:" + path("c.sock");
    std::unique_ptr<Process> controller_;
    std::map<std::string, std::unique_ptr<Process>> workers_;  // by name
    std::string job_;
};

}  // namespace rm::e2e
