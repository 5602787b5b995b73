#include "cli/client/calls.h"
#include "cli/show/job_text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct CancelOptions : VerbOptions {
    std::vector<std::string> ids = add("ID", ids, kJobsHelp, required_text());
    bool now = add("--now", now, "Without a checkpoint");
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

Result<ExitCode> run_cancel(const CancelOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, options.ids));
    std::vector<pb::Job> cancelled;
    ExitCode code = ExitCode::ok;
    for (const std::string& id : ids) {  // one that cannot be cancelled does not save the others
        const auto job =
            cancel_job(client, id, options.now ? CancelMode::now : CancelMode::checkpoint_first);
        if (!job) {
            code = complain(context.console, job.error(), exit_code_of(job.error()));
            continue;
        }
        context.console.note(state_line(*job));
        cancelled.push_back(*job);
    }
    print_each(context.console.out, options.output, cancelled);
    return code;
}

}  // namespace

Verb cancel_verb() {
    return verb_of("cancel", "Stop jobs, with a checkpoint first", run_cancel,
                   {{"ringmaster cancel a1b2c3", "with a checkpoint first"},
                    {"ringmaster cancel a1b2c3 d4e5f6 --now", "without one"}});
}

}  // namespace rm
