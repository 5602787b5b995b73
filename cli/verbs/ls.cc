#include "cli/client/calls.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct LsOptions : VerbOptions {
    bool all = add("-a,--all", all, "Ended jobs too");
    OutputFormat output = add_output(output, "table|wide|json|yaml|name");
};

Result<ExitCode> run_ls(const LsOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<pb::Job> jobs, options.all ? all_jobs(client) : live_jobs(client));
    const Output& out = context.console.out;
    print_list(out, options.output, jobs,
               [&](Detail detail) { return jobs_table(jobs, detail, context.clock.wall()); });
    return ExitCode::ok;
}

}  // namespace

Verb ls_verb() {
    return verb_of("ls", "List jobs", run_ls,
                   {{"ringmaster ls -a", "ended jobs too"},
                    {"ringmaster ls -o name", "only ids, for a script"}});
}

}  // namespace rm
