#include "cli/document.h"
#include "cli/job_names.h"
#include "cli/placement_text.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const PlacementOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    RM_TRY(const pb::PlacementReply reply, client.placement(id, options.attempt));
    const Output& out = context.console.out;
    if (options.output == OutputFormat::table) {
        RM_RETURN_IF_ERROR(print_attempt_placement(out, reply, context.clock.wall()));
    } else {
        print_document(out.stream, reply, document_format(options.output));
    }
    return ExitCode::ok;
}

}  // namespace rm
