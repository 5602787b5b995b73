#include "worker/rank/report_line.h"

#include <nlohmann/json.hpp>

#include "engine/train/report_json.h"

namespace rm {
namespace {

using nlohmann::json;

std::string body(const StepReport& report) {
    return to_json(report);
}
std::string body(const EvaluationReport& report) {
    return to_json(report);
}
std::string body(const ConnectedReport& report) {
    return to_json(report);
}
std::string body(const StartedReport& report) {
    return json{{"first_step", report.first_step}, {"num_steps", report.num_steps}}.dump();
}
std::string body(const CheckpointReport& report) {
    return json{{"step", report.step}, {"path", report.path}, {"seconds", report.seconds}}.dump();
}
std::string body(const StageDoneReport& report) {
    return json{{"stage", report.stage}, {"step", report.step}}.dump();
}
std::string body(const NoteReport& report) {
    return json{{"text", report.text}}.dump(-1, ' ', false, json::error_handler_t::replace);
}
std::string body(const AlarmReport& report) {
    return body(NoteReport{report.text});
}

// By the index in ReportLine::report.
constexpr const char* kKinds[] = {"started",    "step", "evaluation", "checkpoint",
                                  "stage_done", "note", "connected",  "alarm"};

Result<ReportLine> parse_body(const std::string& kind, WallTime time, const json& value) {
    if (kind == "step") {
        RM_TRY(StepReport report, parse_step_report(value.dump()));
        return ReportLine{time, std::move(report)};
    }
    if (kind == "evaluation") {
        RM_TRY(const EvaluationReport report, parse_evaluation_report(value.dump()));
        return ReportLine{time, report};
    }
    if (kind == "connected") {
        RM_TRY(ConnectedReport report, parse_connected_report(value.dump()));
        return ReportLine{time, std::move(report)};
    }
    if (kind == "started") {
        return ReportLine{time, StartedReport{value.at("first_step").get<std::int64_t>(),
                                              value.at("num_steps").get<std::int64_t>()}};
    }
    if (kind == "checkpoint") {
        return ReportLine{time, CheckpointReport{value.at("step").get<std::int64_t>(),
                                                 value.at("path").get<std::string>(),
                                                 value.at("seconds").get<double>()}};
    }
    if (kind == "stage_done") {
        return ReportLine{time, StageDoneReport{value.at("stage").get<int>(),
                                                value.at("step").get<std::int64_t>()}};
    }
    if (kind == "note") return ReportLine{time, NoteReport{value.at("text").get<std::string>()}};
    if (kind == "alarm") return ReportLine{time, AlarmReport{value.at("text").get<std::string>()}};
    return make_error(ErrorCode::data_loss, "a report of the unknown kind '{}'", kind);
}

}  // namespace

std::string to_json(const ReportLine& line) {
    const std::string text =
        std::visit([](const auto& report) { return body(report); }, line.report);
    return format(R"({{"kind":"{}","time_us":{},"report":{}}})", kKinds[line.report.index()],
                  line.time.micros, text);
}

Result<ReportLine> parse_report_line(std::string_view line) {
    try {
        const json value = json::parse(line);
        return parse_body(value.at("kind").get<std::string>(),
                          {value.at("time_us").get<std::int64_t>()}, value.at("report"));
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss, "a report that cannot be read: {}", error.what());
    }
}

}  // namespace rm
