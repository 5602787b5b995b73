#include "cli/client/calls.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

struct ContinueOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    bool follow = add("--follow", follow, kFollowHelp);
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

Result<ExitCode> run_continue(const ContinueOptions& options, VerbContext& context) {
    std::optional<Signals> signals;  // before the first thread of gRPC
    if (options.follow) signals.emplace();
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string ended, find_job(client, options.id));
    pb::ContinueJobRequest request;
    request.set_job_id(ended);
    request.set_request_id(random_request_id());
    RM_TRY(const pb::SubmitReply reply, client.call(&pb::JobService::Stub::Continue, request));
    const std::string& id = reply.job_id();
    RM_TRY(const pb::Job job, get_job(client, id));
    context.console.note(format("job {} continues job {} from {}", id, job.continues(),
                                job.spec().checkpoint().from()));
    RM_RETURN_IF_ERROR(print_new_job(id, options.output, client, context));
    if (!signals) return ExitCode::ok;
    return follow_job(id, client, *signals, context);
}

}  // namespace

Verb continue_verb() {
    return verb_of("continue", "Resume an ended job from its last checkpoint, as a new job",
                   run_continue,
                   {{"ringmaster continue a1b2c3 --follow", "from its newest checkpoint"}});
}

}  // namespace rm
