#include "cli/describe_job.h"
#include "cli/job_names.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const ShowOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, options.ids));
    std::vector<pb::Job> jobs;
    for (const std::string& id : ids) {
        RM_TRY(pb::Job job, client.get(id));
        jobs.push_back(std::move(job));
    }
    const Output& out = context.console.out;
    if (options.output != OutputFormat::table) {
        print_each(out, options.output, jobs);
        return ExitCode::ok;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (i > 0) out.stream << '\n';
        describe_job(out, jobs[i], context.clock.wall());
    }
    return ExitCode::ok;
}

}  // namespace rm
