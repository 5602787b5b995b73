#include <sstream>

#include "cli/show/history_groups.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

// Validates the name of a key for the parser: returns the error, or an empty text.
template <Result<HistoryKey> (*parse)(const std::string&)>
std::string is_key(const std::string& name) {
    const auto key = parse(name);
    return key ? std::string() : key.error().message;
}

struct HistoryOptions : VerbOptions {
    std::string state =
        add("--state", state, "Only jobs in this state",
            {.type = "pending|starting|running|stopping|succeeded|failed|cancelled"});
    std::string name = add("--name", name, "Only jobs of this name", {.type = "NAME"});
    std::string model =
        add("--model", model, "Only jobs of this preset or model directory", {.type = "MODEL"});
    std::string user = add("--user", user, "Only jobs of this owner", {.type = "USER"});
    std::string tag = add("--tag", tag, "Only jobs with this tag", {.type = "TAG"});
    std::string since =
        add("--since", since, "Only jobs submitted since: 30m, 2h, 3d, or a date (UTC)",
            {.type = "TIME"});
    std::string sort =
        add("--sort", sort, "Newest and highest first, names from a to z [submitted]",
            {.type = "submitted|ended|name|state|model|user|loss|tokens|cost",
             .check = is_key<parse_sort_key>},
            "submitted");
    bool reverse = add("--reverse", reverse, "Reverse the order");
    std::string group_by = add("--group-by", group_by, "Print one line of sums per group instead",
                               {.type = "state|model|user|name", .check = is_key<parse_group_key>});
    OutputFormat output = add_output(output, "table|wide|json|yaml|name|csv");
};

Error about(std::string_view option, const Error& error) {
    return {error.code, format("{}: {}", option, error.message)};
}

Result<pb::HistoryRequest> request_of(const HistoryOptions& options, WallTime now) {
    pb::HistoryRequest request;
    request.set_name(options.name);
    request.set_model(options.model);
    request.set_owner(options.user);
    request.set_tag(options.tag);
    if (!options.state.empty()) {
        const auto state = parse_job_state(options.state);
        if (!state) return about("--state", state.error());
        request.set_state(*state);
    }
    if (!options.since.empty()) {
        const auto since = parse_since(options.since, now);
        if (!since) return about("--since", since.error());
        *request.mutable_since() = to_proto(*since);
    }
    return request;
}

void print_csv(const Output& out, const Table& table) {
    std::ostringstream text;
    table.print_csv(text);
    out.stream << out.data(text.str());
}

void print_groups(const Output& out, OutputFormat format, const std::vector<HistoryGroup>& groups,
                  HistoryKey key) {
    if (is_document(format)) return print_json(out.stream, groups_json(groups, key), format);
    if (format == OutputFormat::csv) return print_csv(out, groups_csv(groups, key));
    if (format != OutputFormat::name) return groups_table(groups, key).print(out);
    for (const HistoryGroup& group : groups)
        out.stream << out.data(group.name) << '\n';
}

Result<ExitCode> run_history(const HistoryOptions& options, VerbContext& context) {
    const WallTime now = context.clock.wall();
    const auto request = request_of(options, now);
    if (!request) return complain(context.console, request.error(), ExitCode::usage);
    RM_TRY(Client client, context.connect());
    std::vector<pb::Job> jobs;
    RM_RETURN_IF_ERROR(client.call_pages(
        &pb::JobService::Stub::History, *request, [&jobs](const pb::HistoryReply& reply) {
            jobs.insert(jobs.end(), reply.jobs().begin(), reply.jobs().end());
        }));
    const Output& out = context.console.out;
    if (!options.group_by.empty()) {
        RM_TRY(const HistoryKey key, parse_group_key(options.group_by));
        print_groups(out, options.output, group_jobs(jobs, key, now), key);
        return ExitCode::ok;
    }
    RM_TRY(const HistoryKey key, parse_sort_key(options.sort));
    sort_jobs(jobs, key, options.reverse ? Order::reversed : Order::usual);
    if (options.output == OutputFormat::csv) {
        print_csv(out, history_csv(jobs));
        return ExitCode::ok;
    }
    print_list(out, options.output, jobs,
               [&](Detail detail) { return history_table(jobs, detail, now); });
    return ExitCode::ok;
}

}  // namespace

Verb history_verb() {
    return verb_of(
        "history", "List every attempt of every job and why it ended", run_history,
        {{"ringmaster history --since 2d --sort loss", "jobs of two days, the highest loss first"},
         {"ringmaster history --group-by model", "sums for each model"},
         {"ringmaster history -o csv", "for a spreadsheet"}});
}

}  // namespace rm
