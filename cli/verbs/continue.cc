#include "cli/job_names.h"
#include "cli/verbs/follow_job.h"

namespace rm {

Result<ExitCode> run_verb(const ContinueOptions& options, VerbContext& context) {
    std::optional<Signals> signals;  // before the first thread of gRPC
    if (options.follow) signals.emplace();
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string ended, find_job(client, options.id));
    RM_TRY(const std::string id, client.continue_job(ended, random_request_id()));
    RM_TRY(const pb::Job job, client.get(id));
    context.console.note(format("job {} continues job {} from {}", id, job.continues(),
                                job.spec().checkpoint().from()));
    RM_RETURN_IF_ERROR(print_new_job(id, options.output, client, context));
    if (!signals) return ExitCode::ok;
    return follow_job(id, client, *signals, context);
}

}  // namespace rm
