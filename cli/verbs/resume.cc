#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const ResumeOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::Node node, client.resume(options.node));
    context.console.note(format("node {} ({}) is in service{}", node.id(),
                                node.inventory().hostname(),
                                node.session_up() ? "" : " when its worker has a session again"));
    print_one(context.console.out, options.output, node);
    return ExitCode::ok;
}

}  // namespace rm
