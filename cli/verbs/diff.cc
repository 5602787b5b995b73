#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "cli/client/calls.h"
#include "cli/show/job_text.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "engine/json/json_members.h"

namespace rm {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct DiffOptions : VerbOptions {
    std::string one = add("A", one, kJobHelp, required_text());
    std::string other = add("B", other, kJobHelp, required_text());
    OutputFormat output = add_output(output, "table|json|yaml");
};

// Both jobs' values of a key; null: the job has none.
struct Difference {
    std::string key;
    json one, other;
};

// The settings of a job file, by the keys that --set takes: stages.0.learning_rate.
std::map<std::string, json> settings_of(const pb::Job& job) {
    std::map<std::string, json> settings;
    const Result<JobSpec> spec = from_proto(job.spec());
    if (!spec) return settings;  // a newer controller may use other words
    const json all = members_to_json(*spec).flatten();
    for (const auto& [pointer, value] : all.items()) {
        std::string key = pointer.substr(1);
        std::ranges::replace(key, '/', '.');
        if (!value.empty() || value.is_primitive()) settings[key] = value;
    }
    return settings;
}

json number_or_null(double number) {
    return number > 0 ? json(number) : json();
}

std::map<std::string, json> results_of(const pb::Job& job) {
    const pb::StepReport& step = job.last_step();
    const pb::Attempt* attempt = newest_attempt(job);
    std::map<std::string, json> results{{"state", state_name(job.state())}};
    if (job.has_last_step()) {
        results["step"] = step.step();
        results["loss"] = step.loss();
        results["tokens"] = step.tokens_total();
        results["tokensPerSecond"] = number_or_null(tokens_per_second(step));
        results["causalMfu"] = number_or_null(step.causal_mfu());
        results["deviceBytes"] = memory_total(step);
    }
    if (attempt != nullptr) results["mesh"] = mesh_text(*attempt);
    if (attempt != nullptr)
        results["medianStepSeconds"] = number_or_null(attempt->measured_step_seconds());
    if (job.has_last_evaluation()) results["heldOutLoss"] = job.last_evaluation().loss();
    if (const auto duration = duration_of(job)) results["seconds"] = duration->value;
    if (job.cost().money() > 0) results["cost"] = job.cost().money();
    for (const pb::SuiteReport& suite : job.last_suites()) {
        for (const SuiteMean& mean : suite_means(from_proto(suite)))
            results[format("{}.{}", suite.name(), mean.length)] = mean.score;
    }
    return results;
}

enum class Keep { differing, all };

std::vector<Difference> compare(const std::map<std::string, json>& one,
                                const std::map<std::string, json>& other, Keep keep) {
    std::set<std::string> keys;
    for (const auto* side : {&one, &other}) {
        for (const auto& [key, value] : *side)
            keys.insert(key);
    }
    const auto value = [](const std::map<std::string, json>& of, const std::string& key) {
        const auto found = of.find(key);
        return found == of.end() ? json() : found->second;
    };
    std::vector<Difference> found;
    for (const std::string& key : keys) {
        Difference difference{key, value(one, key), value(other, key)};
        const bool equal = difference.one == difference.other;
        const bool empty = difference.one.is_null() && difference.other.is_null();
        if (!empty && (!equal || keep == Keep::all)) found.push_back(std::move(difference));
    }
    return found;
}

std::string cell_text(const json& value) {
    if (value.is_null()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number_float()) return value.dump();
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value.get<double>());
    return text;
}

// By how much the second number is above the first: +3.1%.
std::string change_text(const Difference& difference) {
    if (!difference.one.is_number() || !difference.other.is_number()) return "";
    const double from = difference.one.get<double>(), to = difference.other.get<double>();
    if (from == 0 || from == to) return "";
    return format("{}{}", to > from ? "+" : "", percent_text(to / from - 1));
}

using Jobs = std::array<std::string, 2>;  // their ids

void print_settings(const Output& out, const std::vector<Difference>& differences,
                    const Jobs& jobs) {
    if (differences.empty()) out.stream << "the same settings\n";
    if (differences.empty()) return;
    Table table({{"SETTING"}, {jobs[0], Align::right}, {jobs[1], Align::right}});
    for (const Difference& one : differences)
        table.add({one.key, printable(cell_text(one.one)), printable(cell_text(one.other))});
    table.print(out);
}

void print_results(const Output& out, const std::vector<Difference>& results, const Jobs& jobs) {
    Table table(
        {{"RESULT"}, {jobs[0], Align::right}, {jobs[1], Align::right}, {"CHANGE", Align::right}});
    for (const Difference& one : results)
        table.add({one.key, printable(cell_text(one.one)), printable(cell_text(one.other)),
                   change_text(one)});
    table.print(out);
}

ordered_json document_of(const std::vector<Difference>& differences) {
    ordered_json out = ordered_json::object();
    for (const Difference& difference : differences)
        out[difference.key] = {difference.one, difference.other};
    return out;
}

Result<ExitCode> run_diff(const DiffOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, {options.one, options.other}));
    RM_TRY(const pb::Job one, get_job(client, ids[0]));
    RM_TRY(const pb::Job other, get_job(client, ids[1]));
    const auto settings = compare(settings_of(one), settings_of(other), Keep::differing);
    const auto results = compare(results_of(one), results_of(other), Keep::all);
    const Output& out = context.console.out;
    if (is_document(options.output)) {
        const ordered_json document = {{"jobs", {one.id(), other.id()}},
                                       {"settings", document_of(settings)},
                                       {"results", document_of(results)}};
        print_json(out.stream, document.dump(), options.output);
        return ExitCode::ok;
    }
    print_settings(out, settings, {one.id(), other.id()});
    out.stream << '\n';
    print_results(out, results, {one.id(), other.id()});
    return ExitCode::ok;
}

}  // namespace

Verb diff_verb() {
    return verb_of("diff", "Compare the settings and results of two jobs", run_diff,
                   {{"ringmaster diff a1b2c3 d4e5f6", "settings that differ, and all results"}});
}

}  // namespace rm
