#include "cli/client/calls.h"
#include "cli/show/describe_job.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

struct ExplainOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<ExitCode> run_explain(const ExplainOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    pb::ExplainJobRequest request;
    RM_TRY(*request.mutable_job_id(), find_job(client, options.id));
    RM_TRY(const pb::ExplainJobReply reply, client.call(&pb::JobService::Stub::Explain, request));
    const Output& out = context.console.out;
    print_reply(out, options.output, reply, [&] { print_explanation(out, reply); });
    return ExitCode::ok;
}

}  // namespace

Verb explain_verb() {
    return verb_of("explain", "Explain why a job waits, what it is doing, or why it ended",
                   run_explain,
                   {{"ringmaster explain night-run", "a job by its name"},
                    {"ringmaster explain a1b2c3 -o json", "findings for a program"}});
}

}  // namespace rm
