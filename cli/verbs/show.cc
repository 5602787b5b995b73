#include "cli/client/calls.h"
#include "cli/show/describe_job.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct ShowOptions : VerbOptions {
    std::vector<std::string> ids = add("ID", ids, kJobsHelp, required_text());
    OutputFormat output = add_output(output, "table|json|yaml|name");
};

Result<ExitCode> run_show(const ShowOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_jobs(client, options.ids));
    std::vector<pb::Job> jobs;
    for (const std::string& id : ids) {
        RM_TRY(pb::Job job, get_job(client, id));
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

}  // namespace

Verb show_verb() {
    return verb_of("show", "Show everything about jobs", run_show,
                   {{"ringmaster show a1b2c3", "everything about one job"},
                    {"ringmaster show a1b2c3 -o json", "the same for a program"}});
}

}  // namespace rm
