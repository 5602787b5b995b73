#pragma once

#include <string>

#include "base/clock.h"
#include "base/os/unique_fd.h"
#include "engine/run/run_rank.h"
#include "worker/rank/report_line.h"

namespace rm {

// Writes each report as a line of rank-N.reports.jsonl for the worker and as a line on stdout, the
// rank's log, for users. A full disk does not stop training: up to 16 MiB of lines for the worker
// wait in memory until the disk has room again.
class JsonlObserver final : public RankObserver {
public:
    static Result<JsonlObserver> open(const std::string& path);

    void on_connected(const ConnectedReport& report) override;
    void on_started(std::int64_t first_step, std::int64_t num_steps) override;
    void on_step(const StepReport& report) override;
    void on_evaluation(const EvaluationReport& report) override;
    void on_suite(const SuiteReport& report) override;
    void on_checkpoint(std::int64_t step, const std::string& path, double seconds) override;
    void on_stage_done(int stage, std::int64_t step) override;
    void on_note(const std::string& text) override;
    void on_alarm(const std::string& text) override;

    // Training has begun.
    bool started() const { return started_; }

private:
    explicit JsonlObserver(UniqueFd file) : file_(std::move(file)) {}
    // False: neither the disk nor the memory set aside for that has room.
    bool append(const std::string& line);
    template <typename Report>
    void write(const Report& report, const std::string& text);

    const SystemClock clock_;
    UniqueFd file_;
    std::string held_;  // what the file has not taken yet; may begin inside a line
    bool started_ = false;
    int said_stage_ = -1;  // whose constants are in the log
};

}  // namespace rm
