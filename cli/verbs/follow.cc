#include "cli/job_names.h"
#include "cli/verbs/follow_job.h"

namespace rm {
namespace {

struct FollowOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
};

Result<ExitCode> run_follow(const FollowOptions& options, VerbContext& context) {
    Signals signals;  // before the first thread of gRPC
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    return follow_job(id, client, signals, context);
}

}  // namespace

Verb follow_verb() {
    return verb_of("follow", "Show a job until it ends, and exit as it did; Ctrl-C detaches",
                   run_follow);
}

}  // namespace rm
