#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "spec/report.h"

// The lines of rank-N.reports.jsonl, from a rank to its worker. Format:
// docs/formats/shim_directory.md.
namespace rm {

struct StartedReport {
    std::int64_t first_step = 0;
    std::int64_t num_steps = 0;
    bool operator==(const StartedReport&) const = default;
};
std::string started_line(const StartedReport& report);  // training steps 21 to 100
struct CheckpointReport {
    std::int64_t step = 0;
    std::string path;
    double seconds = 0;
    bool operator==(const CheckpointReport&) const = default;
};
struct StageDoneReport {
    int stage = 0;
    std::int64_t step = 0;
    bool operator==(const StageDoneReport&) const = default;
};
struct NoteReport {
    std::string text;
    bool operator==(const NoteReport&) const = default;
};

// A note that needs a user's attention; the run continues.
struct AlarmReport {
    std::string text;
    bool operator==(const AlarmReport&) const = default;
};

struct ReportLine {
    WallTime time;
    std::variant<StartedReport, StepReport, EvaluationReport, CheckpointReport, StageDoneReport,
                 NoteReport, ConnectedReport, AlarmReport, SuiteReport>
        report;
};

std::string to_json(const ReportLine& line);  // without '\n'
Result<ReportLine> parse_report_line(std::string_view line);

}  // namespace rm
