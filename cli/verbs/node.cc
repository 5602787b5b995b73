#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/show/job_tables.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/node.grpc.pb.h"

namespace rm {
namespace {

struct RemoveOptions : VerbOptions {
    std::vector<std::string> nodes = add("NODE", nodes, kNodesHelp, required_text());
    std::string reason = add("--reason", reason, "Reason, kept in the audit log", {.type = "TEXT"});
    bool yes = add("-y,--yes", yes, "Do not ask");
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

Result<ExitCode> run_remove(const RemoveOptions& options, VerbContext& context) {
    if (!options.yes &&
        !context.console.confirm(format("Remove node {} for good? Its ranks are killed, its jobs "
                                        "are tried again elsewhere, and it cannot come back. "
                                        "(`ringmaster drain` first keeps the steps since the last "
                                        "checkpoint.)",
                                        join(options.nodes)))) {
        context.console.note("nothing was changed");
        return ExitCode::interrupted;
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_nodes(client, options.nodes));
    std::vector<pb::Node> removed;
    for (const std::string& id : ids) {
        pb::RemoveNodeRequest request;
        request.set_node_id(id);
        request.set_reason(options.reason);
        RM_TRY(pb::Node node, client.call(&pb::NodeService::Stub::Remove, request));
        context.console.note(
            format("{} is removed: its certificate is not accepted any more. With an empty state "
                   "directory and a new token its machine joins as another node",
                   node_line(node)));
        removed.push_back(std::move(node));
    }
    print_each(context.console.out, options.output, removed);
    return ExitCode::ok;
}

}  // namespace

Verb node_verb() {
    return {"node",
            "Remove nodes",
            nullptr,
            {verb_of("remove", "Remove nodes for good: revoke their certificates", run_remove,
                     {{"ringmaster node remove node-7",
                       "its jobs move elsewhere, and it cannot come back"}})}};
}

}  // namespace rm
