#include "worker/rank/report_line.h"

#include <nlohmann/json.hpp>

#include "engine/json/json_members.h"

namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<StartedReport> auto& report) {
    auto& [first_step, num_steps] = report;
    visit_named(visit, {"first_step", "num_steps"}, first_step, num_steps);
}

template <typename Visit>
void describe(Visit& visit, Like<CheckpointReport> auto& report) {
    auto& [step, path, seconds] = report;
    visit_named(visit, {"step", "path", "seconds"}, step, path, seconds);
}

template <typename Visit>
void describe(Visit& visit, Like<StageDoneReport> auto& report) {
    auto& [stage, step] = report;
    visit_named(visit, {"stage", "step"}, stage, step);
}

template <typename Visit>
void describe(Visit& visit, Like<NoteReport> auto& report) {
    visit(Member{.name = "text"}, report.text);
}

template <typename Visit>
void describe(Visit& visit, Like<AlarmReport> auto& report) {
    visit(Member{.name = "text"}, report.text);
}

namespace {

using nlohmann::json;

// The word for a kind of report and its required member, by index in ReportLine::report.
struct Kind {
    std::string_view word;
    std::string_view member;
};
constexpr Kind kKinds[] = {
    {"started", "first_step"}, {"step", "step"},        {"evaluation", "step"},
    {"checkpoint", "step"},    {"stage_done", "stage"}, {"note", "text"},
    {"connected", "rank"},     {"alarm", "text"},       {"suite", "step"}};
static_assert(std::size(kKinds) == std::variant_size_v<decltype(ReportLine::report)>);

Error unreadable(std::string_view why) {
    return make_error(ErrorCode::data_loss, "a report that cannot be read: {}", why);
}

template <std::size_t I = 0>
Result<ReportLine> parse_body(std::string_view word, WallTime time, const json& value) {
    if constexpr (I == std::size(kKinds)) {
        return make_error(ErrorCode::data_loss, "a report of the unknown kind '{}'", word);
    } else {
        if (word != kKinds[I].word) return parse_body<I + 1>(word, time, value);
        std::variant_alternative_t<I, decltype(ReportLine::report)> report;
        JsonObject object(value, "");
        // Members that an older rank does not write keep their defaults.
        JsonReader reader(object.require(kKinds[I].member), UnknownMembers::passed_over);
        describe(reader, report);
        if (!object.status()) return unreadable(object.status().error().message);
        return ReportLine{time, std::move(report)};
    }
}

}  // namespace

std::string to_json(const ReportLine& line) {
    const json report =
        std::visit([](const auto& kind) { return members_to_json(kind); }, line.report);
    return format(R"({{"kind":"{}","time_us":{},"report":{}}})", kKinds[line.report.index()].word,
                  line.time.micros, report.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<ReportLine> parse_report_line(std::string_view line) {
    try {
        const json value = json::parse(line);
        return parse_body(value.at("kind").get<std::string>(),
                          {value.at("time_us").get<std::int64_t>()}, value.at("report"));
    } catch (const json::exception& error) {
        return unreadable(error.what());
    }
}

std::string started_line(const StartedReport& report) {
    if (report.num_steps == 0) return "evaluating, without a step";
    return format("training steps {} to {}", report.first_step, report.num_steps);
}

}  // namespace rm
