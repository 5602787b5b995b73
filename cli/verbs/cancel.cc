#include "cli/job_text.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const CancelOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::Job job, client.cancel(options.id, options.mode));
    context.console.note(state_line(job));
    print_one(context.console.out, options.output, job);
    return ExitCode::ok;
}

}  // namespace rm
