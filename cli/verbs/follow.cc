#include "cli/job_names.h"
#include "cli/verbs/follow_job.h"

namespace rm {

Result<ExitCode> run_verb(const FollowOptions& options, VerbContext& context) {
    Signals signals;  // before the first thread of gRPC
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    return follow_job(id, client, signals, context);
}

}  // namespace rm
