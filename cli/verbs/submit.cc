#include "cli/follow.h"
#include "cli/job_file_input.h"
#include "cli/signals.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

Result<ExitCode> follow_job(const std::string& id, Client& client, Signals& signals,
                            VerbContext& context) {
    ProgressDisplay display(context.console.err);
    JobFollower follower(display);
    const Watch watch = [&](std::stop_token stop, const auto& on_update) {
        return client.watch(id, std::move(stop), on_update);
    };
    while (!follower.ended()) {
        RM_RETURN_IF_ERROR(follow(watch, follower, display, signals.token()));
        if (follower.ended() || signals.take().interrupts == 0) continue;
        display.finish();
        context.console.note(
            format("detached; job {} goes on. `ringmaster cancel {}` stops it, `ringmaster show "
                   "{}` shows it",
                   id, id, id));
        return ExitCode::interrupted;
    }
    return exit_code_of(follower.job());
}

}  // namespace

Result<ExitCode> run_verb(const SubmitOptions& options, VerbContext& context) {
    const auto spec = read_job_file(options.file);
    if (!spec) return complain(context.console, spec.error(), ExitCode::usage);
    // Before the first thread of gRPC, and only where Ctrl-C means something else than the end.
    std::optional<Signals> signals;
    if (options.follow) signals.emplace();
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, client.submit(*spec, random_request_id()));
    if (options.output == OutputFormat::name) {
        context.console.out.stream << id << '\n' << std::flush;
    } else {
        RM_TRY(const pb::Job job, client.get(id));
        print_one(context.console.out, options.output, job);
        context.console.out.stream << std::flush;
    }
    if (!signals) return ExitCode::ok;
    return follow_job(id, client, *signals, context);
}

}  // namespace rm
