#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const NodesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<pb::Node> nodes, client.nodes());
    print_list(context.console.out, options.output, nodes,
               [&](Detail detail) { return nodes_table(nodes, detail, context.clock.wall()); });
    return ExitCode::ok;
}

}  // namespace rm
