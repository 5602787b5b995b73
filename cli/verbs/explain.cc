#include "cli/document.h"
#include "cli/explanation.h"
#include "cli/job_names.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const ExplainOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    RM_TRY(const pb::ExplainJobReply reply, client.explain(id));
    const Output& out = context.console.out;
    if (options.output == OutputFormat::table) {
        print_explanation(out, reply);
    } else {
        print_document(out.stream, reply, document_format(options.output));
    }
    return ExitCode::ok;
}

}  // namespace rm
