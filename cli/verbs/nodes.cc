#include "base/words.h"
#include "cli/node_names.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const NodesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(Fleet fleet, client.fleet());
    if (!options.nodes.empty()) {
        RM_TRY(fleet.nodes, pick_nodes(options.nodes, fleet.nodes));
    }
    print_list(context.console.out, options.output, fleet.nodes, [&](Detail detail) {
        return nodes_table(fleet.nodes, detail, context.clock.wall());
    });
    if (fleet.telemetry_dropped > 0) {
        context.console.note(
            format("the controller has refused step reports and log pieces {} since it started, "
                   "because its disk is or was short of space; their workers keep them",
                   counted(fleet.telemetry_dropped, "time")));
    }
    return ExitCode::ok;
}

}  // namespace rm
