#include "base/words.h"
#include "cli/client/calls.h"
#include "cli/fleet/machine_text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct NodesOptions : VerbOptions {
    std::vector<std::string> nodes =
        add("NODE", nodes, "Only these: names, ids, or unique prefixes of ids");
    OutputFormat output = add_output(output, "table|wide|json|yaml|name");
};

// Nodes, then the provider's machines that have no worker or lost it.
void print_fleet_documents(const Fleet& fleet, OutputFormat format, const Output& out) {
    std::vector<const google::protobuf::Message*> all;
    for (const pb::Node& node : fleet.nodes)
        all.push_back(&node);
    for (const pb::Machine& machine : fleet.machines)
        all.push_back(&machine);
    print_documents(out.stream, all, format);
}

void print_machines(const Fleet& fleet, OutputFormat format, Console& console) {
    if (format == OutputFormat::name || fleet.machines.empty()) return;
    console.out.stream << '\n';
    provider_table(fleet.machines, format == OutputFormat::wide ? Detail::wide : Detail::usual)
        .print(console.out);
}

void note_troubles(const Fleet& fleet, Console& console) {
    if (!fleet.provider_problem.empty())
        console.note(
            format("the provider of machines does not answer: {}", fleet.provider_problem));
    if (fleet.telemetry_dropped == 0) return;
    console.note(
        format("the controller has refused step reports and log pieces {} since it started, "
               "because its disk is or was short of space; their workers keep them",
               counted(fleet.telemetry_dropped, "time")));
}

Result<ExitCode> run_nodes(const NodesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(Fleet fleet, read_fleet(client));
    if (!options.nodes.empty()) {
        RM_TRY(fleet.nodes, pick_nodes(options.nodes, fleet.nodes));
        fleet.machines.clear();
    }
    if (options.output != OutputFormat::wide) fleet.machines = without_worker(fleet.machines);
    Console& console = context.console;
    if (is_document(options.output)) {
        print_fleet_documents(fleet, options.output, console.out);
    } else {
        print_list(console.out, options.output, fleet.nodes, [&](Detail detail) {
            return nodes_table(fleet.nodes, detail, context.clock.wall());
        });
        print_machines(fleet, options.output, console);
    }
    note_troubles(fleet, console);
    return ExitCode::ok;
}

}  // namespace

Verb nodes_verb() {
    return verb_of("nodes", "List nodes", run_nodes,
                   {{"ringmaster nodes -o wide", "with reasons of drains, roots and whole ids"}});
}

}  // namespace rm
