#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/show/job_tables.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/node.grpc.pb.h"

namespace rm {
namespace {

struct DrainOptions : VerbOptions {
    std::vector<std::string> nodes = add("NODE", nodes, kNodesHelp, required_text());
    std::string reason =
        add("--reason", reason, "Reason, shown in `nodes -o wide`", {.type = "TEXT"});
    bool keep_running = add("--keep-running", keep_running, "Let running jobs finish");
    bool gone = add("--gone", gone, "The machine is gone: do not wait for its ranks",
                    {.excludes = "--keep-running"});
    bool yes = add("-y,--yes", yes, "Do not ask");
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

std::string outcome(const pb::Node& node, const DrainOptions& options) {
    const std::string line = node_line(node);
    if (options.gone)
        return line +
               " is gone: nothing waits for its devices any more. It comes back when its worker "
               "connects";
    const std::string running =
        options.keep_running
            ? format("jobs on its {} may finish", counted(node.busy_devices_size(), "busy device"))
            : format("jobs on its {} stop with a checkpoint and move elsewhere",
                     counted(node.busy_devices_size(), "busy device"));
    return format(
        "{} is drained ({}): nothing new is scheduled there; {}. To undo: `ringmaster resume {}`",
        line, node.drained(), node.busy_devices_size() == 0 ? "nothing runs there" : running,
        node.id());
}

Result<ExitCode> run_drain(const DrainOptions& options, VerbContext& context) {
    if (options.gone && !options.yes &&
        !context.console.confirm(format("Is the machine of node {} really gone? Ranks that still "
                                        "run there would train beside their successors.",
                                        join(options.nodes)))) {
        context.console.note("nothing was changed");
        return ExitCode::interrupted;
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_nodes(client, options.nodes));
    std::vector<pb::Node> drained;
    for (const std::string& id : ids) {
        pb::DrainNodeRequest request;
        request.set_node_id(id);
        request.set_reason(options.reason);
        request.set_keep_running(options.keep_running);
        request.set_gone(options.gone);
        RM_TRY(pb::Node node, client.call(&pb::NodeService::Stub::Drain, request));
        context.console.note(outcome(node, options));
        drained.push_back(std::move(node));
    }
    print_each(context.console.out, options.output, drained);
    return ExitCode::ok;
}

}  // namespace

Verb drain_verb() {
    return verb_of("drain", "Drain nodes: move their jobs elsewhere and schedule nothing new there",
                   run_drain,
                   {{"ringmaster drain node-7 --reason disk", "its jobs move elsewhere"},
                    {"ringmaster drain node-7 --keep-running", "its jobs may finish"},
                    {"ringmaster drain node-7 --gone", "the machine no longer exists"}});
}

}  // namespace rm
