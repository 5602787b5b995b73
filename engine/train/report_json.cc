#include "engine/train/report_json.h"

#include <nlohmann/json.hpp>

#include "engine/json/json_members.h"

namespace rm {

using nlohmann::json;

namespace {

Status not_a_report(std::string_view line, std::string_view why) {
    return invalid_argument("not a report ({}): {}", why, line.substr(0, 200));
}

// Members that an older line does not have keep their defaults, those of a newer one are passed
// over.
template <typename Report>
Result<Report> parse_report(std::string_view line, std::string_view key) {
    const json value = json::parse(line, nullptr, false);
    if (value.is_discarded()) return not_a_report(line, "not JSON").error();
    Report report;
    JsonObject object(value, "");
    JsonReader reader(object.require(key), UnknownMembers::passed_over);
    describe(reader, report);
    if (!object.status()) return not_a_report(line, object.status().error().message).error();
    return report;
}

}  // namespace

std::string to_json(const StepReport& report) {
    return members_to_json(report).dump();
}
std::string to_json(const ConnectedReport& report) {
    return members_to_json(report).dump();
}
std::string to_json(const EvaluationReport& report) {
    return members_to_json(report).dump();
}

Result<StepReport> parse_step_report(std::string_view line) {
    return parse_report<StepReport>(line, "step");
}
Result<ConnectedReport> parse_connected_report(std::string_view line) {
    return parse_report<ConnectedReport>(line, "rank");
}
Result<EvaluationReport> parse_evaluation_report(std::string_view line) {
    return parse_report<EvaluationReport>(line, "step");
}

}  // namespace rm
