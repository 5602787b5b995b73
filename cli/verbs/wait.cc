#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/client/calls.h"
#include "cli/client/follow.h"
#include "cli/document.h"
#include "cli/show/job_text.h"
#include "cli/verb.h"

namespace rm {
namespace {

struct WaitOptions : VerbOptions {
    std::vector<std::string> ids = add("ID", ids, kJobsHelp, required_text());
    std::string timeout =
        add("--timeout", timeout, "Give up after this long, such as 30m (exit code 6)",
            {.type = "SPAN"});
    OutputFormat output = add_output(output, "table|json|yaml");
};

// Asks `source` to stop after `limit`, unless destroyed before.
class Timeout {
public:
    Timeout(std::stop_source source, std::optional<Seconds> limit) {
        if (!limit) return;
        thread_ = std::jthread([source, limit](std::stop_token cancelled) mutable {
            std::mutex mutex;
            std::condition_variable_any never;
            std::unique_lock lock(mutex);
            const std::chrono::duration<double> span(limit->value);
            never.wait_for(lock, cancelled, span, [] { return false; });
            if (!cancelled.stop_requested()) source.request_stop();
        });
    }

private:
    std::jthread thread_;
};

// Waits for the end of one job; nothing when `stop` came first.
Result<std::optional<pb::Job>> wait_for(const std::string& id, Client& client, Console& console,
                                        std::stop_token stop) {
    std::ostream nowhere(nullptr);
    ProgressDisplay silent(Output{nowhere});
    JobFollower follower(silent);
    RM_RETURN_IF_ERROR(follow(watch_of(client, id), follower, silent, std::move(stop)));
    if (!follower.ended()) return std::optional<pb::Job>();
    console.note(state_line(follower.job()));
    return std::optional(follower.job());
}

Result<ExitCode> run_wait(const WaitOptions& options, VerbContext& context) {
    std::optional<Seconds> limit;
    if (!options.timeout.empty()) {
        const auto parsed = parse_seconds(options.timeout);
        if (!parsed) {
            return complain(context.console,
                            invalid_argument("--timeout: {}", parsed.error().message),
                            ExitCode::usage);
        }
        limit = *parsed;
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, options.ids));
    std::stop_source stop;
    const Timeout timeout(stop, limit);
    const bool as_table = options.output == OutputFormat::table;
    std::ostream& out = context.console.out.stream;
    std::vector<pb::Job> ended;
    ExitCode code = ExitCode::ok;
    for (const std::string& id : ids) {
        RM_TRY(const std::optional<pb::Job> job,
               wait_for(id, client, context.console, stop.get_token()));
        if (!job) {
            context.console.note(format("job {} has not ended within {}", id, *limit));
            code = ExitCode::timed_out;
            break;
        }
        if (as_table) out << id << ' ' << state_name(job->state()) << '\n' << std::flush;
        if (job->state() != pb::JOB_STATE_SUCCEEDED) code = ExitCode::job_failed;
        ended.push_back(*job);
    }
    if (!as_table) print_documents(out, ended, options.output);
    return code;
}

}  // namespace

Verb wait_verb() {
    return verb_of(
        "wait", "Wait until jobs have ended; exit code 5 if one failed", run_wait,
        {{"ringmaster wait a1b2c3 d4e5f6 --timeout 30m", "exit code 5 if one failed, 6 if late"}});
}

}  // namespace rm
