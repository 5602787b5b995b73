#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const LsOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<pb::Job> jobs, options.all ? client.list_all() : client.list_live());
    const Output& out = context.console.out;
    print_list(out, options.output, jobs,
               [&](Detail detail) { return jobs_table(jobs, detail, context.clock.wall()); });
    return ExitCode::ok;
}

}  // namespace rm
