#include "base/words.h"
#include "cli/client/calls.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct NodesOptions : VerbOptions {
    std::vector<std::string> nodes =
        add("NODE", nodes, "Only these: names, ids, or unique prefixes of ids");
    OutputFormat output = add_output(output, "table|wide|json|yaml|name");
};

Result<ExitCode> run_nodes(const NodesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(Fleet fleet, read_fleet(client));
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

}  // namespace

Verb nodes_verb() {
    return verb_of("nodes", "List nodes", run_nodes,
                   {{"ringmaster nodes -o wide", "with reasons of drains, roots and whole ids"}});
}

}  // namespace rm
