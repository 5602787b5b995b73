#include "cli/client/calls.h"
#include "cli/document.h"
#include "cli/show/placement_text.h"
#include "cli/verb.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

struct PlacementOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    std::int64_t attempt = add("--attempt", attempt, "Which attempt [the newest]", number_from(1));
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<ExitCode> run_placement(const PlacementOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    pb::PlacementRequest request;
    RM_TRY(*request.mutable_job_id(), find_job(client, options.id));
    request.set_attempt(options.attempt);
    RM_TRY(const pb::PlacementReply reply,
           client.call(&pb::TopologyService::Stub::Placement, request));
    const Output& out = context.console.out;
    if (options.output == OutputFormat::table) {
        RM_RETURN_IF_ERROR(print_attempt_placement(out, reply, context.clock.wall()));
    } else {
        print_document(out.stream, reply, options.output);
    }
    return ExitCode::ok;
}

}  // namespace

Verb placement_verb() {
    return verb_of("placement", "Show where a job's ranks are and what their communication costs",
                   run_placement,
                   {{"ringmaster placement a1b2c3", "the newest attempt"},
                    {"ringmaster placement a1b2c3 --attempt 2", "an earlier one"}});
}

}  // namespace rm
