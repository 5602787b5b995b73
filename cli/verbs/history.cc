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

}  // namespace

Result<ExitCode> run_verb(const HistoryOptions& options, VerbContext& context) {
    const auto filter = filter_of(options, context.clock.wall());
    if (!filter) return complain(context.console, filter.error(), ExitCode::usage);
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<pb::Job> jobs, client.history(*filter));
    const Output& out = context.console.out;
    if (options.output == OutputFormat::csv) {
        history_csv(jobs).print_csv(out.stream);
        return ExitCode::ok;
    }
    print_list(out, options.output, jobs,
               [&](Detail detail) { return history_table(jobs, detail, context.clock.wall()); });
    return ExitCode::ok;
}

}  // namespace rm
