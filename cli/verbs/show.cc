#include "cli/describe_job.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const ShowOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::Job job, client.get(options.id));
    if (options.output == OutputFormat::table) {
        describe_job(context.console.out, job, context.clock.wall());
    } else {
        print_one(context.console.out, options.output, job);
    }
    return ExitCode::ok;
}

}  // namespace rm
