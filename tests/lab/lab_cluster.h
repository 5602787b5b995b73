#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/support/e2e_test.h"
#include "tests/lab/lab.h"
#include "tests/support/small_disk.h"

namespace rm::lab {

using e2e::Finished;
using e2e::JobText;
using e2e::Json;
using e2e::one_to;
using e2e::Process;
using e2e::steps_in;

// 100,000 steps of some 30 ms on two ranks: practically endless.
inline const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";

// The real daemons on hosts of a lab: the controller on `desk`, which speaks TLS, and workers of
// one slot each on n0, n1, ... with certificates of their names, which are their nodes' ids. The
// command line reaches the controller by a Unix socket, which no cut affects.
class LabCluster : public e2e::E2eTest {
protected:
    void SetUp() override;  // skips where there are no namespaces
    ~LabCluster() override;

    // Before `name` starts: its state directory is on this disk.
    void keep_on(const SmallDisk& disk, const std::string& name);
    void start_controller(const std::vector<std::string>& more = {});
    void stop_controller();
    void stop_all();  // as the destructor does; for classes that destroy their hosts first
    void start_worker(const std::string& name);
    void start_workers(int count);  // n0, n1, ... with a session each

    Finished there(std::vector<std::string> arguments);
    void submit_job(const JobText& text);
    Json job();
    Json nodes();
    bool has_session(const std::string& node);
    std::string state();
    std::int64_t last_step();
    bool reaches_state(const std::string& state, Seconds limit = Seconds{60});
    bool reaches_step(std::int64_t step, Seconds limit = Seconds{60});
    // Where the ranks of an attempt (0: the first) are, by rank.
    std::vector<std::string> hosts_of(std::size_t attempt);
    std::string log_of(int rank) { return there({"logs", job_, "--rank", format("{}", rank)}).out; }
    // A file of the directory in which a worker keeps an attempt.
    Json attempt_file(const std::string& worker, std::int64_t epoch, const std::string& name);
    pid_t rank_process(const std::string& worker, std::int64_t epoch) {
        return attempt_file(worker, epoch, "shim.json")["ranks"][0]["pid"];
    }
    // Expects every step up to the same last one in both logs, once.
    void expect_whole_logs();
    static void say(const std::string& text);

    // Creates pki/NAME.crt and .key; returns their path without the ending.
    std::string issue(const std::string& role, const std::string& name,
                      const std::vector<std::string>& more = {});

    std::unique_ptr<Lab> lab_;
    std::unique_ptr<Process> controller_;
    std::map<std::string, std::unique_ptr<Process>> workers_;
    std::string job_;
    bool pinned_ = true;      // workers have the data address of their first network, by option
    bool monitored_ = false;  // daemons speak HTTPS, on kControllerHttp and kWorkerHttp
    bool ranks_need_controller_ = true;  // without it, they stop after a minute
    static constexpr int kControllerHttp = 7071, kWorkerHttp = 7072;

private:
    std::string http_of(const std::string& host, int port) const;
};

}  // namespace rm::lab
