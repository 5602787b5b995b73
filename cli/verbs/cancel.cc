#include "cli/job_names.h"
#include "cli/job_text.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const CancelOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, options.ids));
    std::vector<pb::Job> cancelled;
    ExitCode code = ExitCode::ok;
    for (const std::string& id : ids) {  // one that cannot be cancelled does not save the others
        const auto job = client.cancel(id, options.mode);
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

}  // namespace rm
