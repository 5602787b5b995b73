#include <sstream>

#include "cli/history_groups.h"
#include "cli/job_text.h"
#include "cli/text.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

Error about(std::string_view option, const Error& error) {
    return {error.code, format("{}: {}", option, error.message)};
}

Result<HistoryFilter> filter_of(const HistoryOptions& options, WallTime now) {
    HistoryFilter filter;
    filter.name = options.name;
    filter.model = options.model;
    filter.user = options.user;
    if (!options.state.empty()) {
        const auto state = parse_job_state(options.state);
        if (!state) return about("--state", state.error());
        filter.state = *state;
    }
    if (!options.since.empty()) {
        const auto since = parse_since(options.since, now);
        if (!since) return about("--since", since.error());
        filter.since = *since;
    }
    return filter;
}

void print_csv(const Output& out, const Table& table) {
    std::ostringstream text;
    table.print_csv(text);
    out.stream << out.data(text.str());
}

void print_groups(const Output& out, OutputFormat format, const std::vector<HistoryGroup>& groups,
                  HistoryKey key) {
    switch (format) {
        case OutputFormat::table:
        case OutputFormat::wide:
            groups_table(groups, key).print(out);
            return;
        case OutputFormat::csv:
            print_csv(out, groups_csv(groups, key));
            return;
        case OutputFormat::json:
            print_json(out.stream, groups_json(groups, key), DocumentFormat::json);
            return;
        case OutputFormat::yaml:
            print_json(out.stream, groups_json(groups, key), DocumentFormat::yaml);
            return;
        case OutputFormat::name:
            for (const HistoryGroup& group : groups)
                out.stream << out.data(group.name) << '\n';
            return;
    }
}

}  // namespace

Result<ExitCode> run_verb(const HistoryOptions& options, VerbContext& context) {
    const WallTime now = context.clock.wall();
    const auto filter = filter_of(options, now);
    if (!filter) return complain(context.console, filter.error(), ExitCode::usage);
    RM_TRY(Client client, context.connect());
    RM_TRY(std::vector<pb::Job> jobs, client.history(*filter));
    const Output& out = context.console.out;
    if (options.group_by) {
        print_groups(out, options.output, group_jobs(jobs, *options.group_by, now),
                     *options.group_by);
        return ExitCode::ok;
    }
    sort_jobs(jobs, options.sort, options.order);
    if (options.output == OutputFormat::csv) {
        print_csv(out, history_csv(jobs));
        return ExitCode::ok;
    }
    print_list(out, options.output, jobs,
               [&](Detail detail) { return history_table(jobs, detail, now); });
    return ExitCode::ok;
}

}  // namespace rm
