#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/support/process.h"

namespace rm::e2e {

using Json = nlohmann::json;

struct Finished {
    int code = -1;  // -1: it was still running at the limit
    std::string out;
    std::string err;
};

// How a job file of the tests differs from the usual one: micro model, ring 2, context 256.
struct JobText {
    std::string name = "demo";
    std::string model = "{preset: micro}";
    std::string data;  // empty: text made by the test
    std::string stages = "  - {context: 256, batch: 512, tokens: 5120, learning_rate: 2e-3}\n";
    std::string parallel = "{ring: 2}";
    std::string extra;  // more lines
    std::string evaluate = "{tokens: 4K}";
};

// Keys that a user types once this regular expression matches what came after the last ones.
struct Typed {
    std::string after;
    std::string keys;
};

// Numbers N of the lines "step N/M ..." in a rank's log, as they come.
std::vector<std::int64_t> steps_in(const std::string& log);
std::vector<std::int64_t> one_to(std::int64_t last);

// Drives the real programs in a private temporary directory: HOME, state and text are in it, and
// the daemons find no configuration of the user. At the end no process of the test may remain.
class E2eTest : public testing::Test {
protected:
    E2eTest();
    ~E2eTest() override;

    std::string path(const std::string& name) const { return (dir_ / name).string(); }
    std::string program(const std::string& name) const { return programs_ + "/" + name; }

    std::string write_job(const JobText& text, const std::string& file = "job.yaml");
    std::unique_ptr<Process> start(std::vector<std::string> argv);
    Finished run(std::vector<std::string> argv, Seconds limit = Seconds{60});
    // `ringmaster ...`
    Finished cli(std::vector<std::string> arguments, Seconds limit = Seconds{60});
    // `ringmaster --state <state> ...`
    Finished at(const std::string& state, std::vector<std::string> arguments);

    // The same on a terminal of 100 by 20, at which a user types; all that it shows is `out`.
    Finished on_terminal(const std::string& state, const std::vector<std::string>& arguments,
                         const std::vector<Typed>& user);

    // Starts `ringmaster up --state <state> ...` and waits until it is ready; otherwise fails the
    // test and returns null.
    std::unique_ptr<Process> up(const std::string& state, std::vector<std::string> arguments);
    // Sends Ctrl-C and expects a clean end within a minute.
    void stop(Process& up);

    std::string submit(const std::string& state, const std::string& job_file);  // the job's id
    Json show(const std::string& state, const std::string& id);
    bool wait_for_state(const std::string& state, const std::string& id, const std::string& wanted,
                        Seconds limit = Seconds{60});
    bool wait_for_step(const std::string& state, const std::string& id, std::int64_t step,
                       Seconds limit = Seconds{60});

    // The number in the newest step line on a follower's stderr; 0: none yet. (A fast job's first
    // steps may have gone by before it is followed.)
    static std::int64_t last_step_shown(const Process& follower);

    const std::string& marker() const { return marker_; }

    std::string programs_;  // the folder of the programs under test

private:
    std::filesystem::path dir_;
    std::string marker_;
    int num_started_ = 0;
};

// One `ringmaster up` of two workers per test.
class LocalClusterTest : public E2eTest {
protected:
    void SetUp() override;
    void TearDown() override;
    Finished here(std::vector<std::string> arguments) { return at(state_, std::move(arguments)); }

    std::string state_ = path("state");
    std::unique_ptr<Process> cluster_;
};

}  // namespace rm::e2e
