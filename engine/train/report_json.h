#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/train/run/run_rank.h"
#include "spec/report.h"

// Reports as one line of JSON (no newline): metrics.jsonl and what a rank hands its worker.
namespace rm {

std::string to_json(const StepReport& report);
std::string to_json(const EvaluationReport& report);
std::string to_json(const ConnectedReport& report);
Result<StepReport> parse_step_report(std::string_view line);
Result<EvaluationReport> parse_evaluation_report(std::string_view line);
Result<ConnectedReport> parse_connected_report(std::string_view line);

}  // namespace rm
