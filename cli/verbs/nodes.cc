#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const NodesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const Fleet fleet, client.fleet());
    print_list(context.console.out, options.output, fleet.nodes, [&](Detail detail) {
        return nodes_table(fleet.nodes, detail, context.clock.wall());
    });
    if (fleet.telemetry_dropped > 0) {
        context.console.note(format(
            "the controller has dropped {} step reports and pieces of logs since it started: its "
            "disk is or was short of space",
            fleet.telemetry_dropped));
    }
    return ExitCode::ok;
}

}  // namespace rm
