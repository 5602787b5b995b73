#include "cli/client/calls.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/node.grpc.pb.h"

namespace rm {
namespace {

struct ResumeOptions : VerbOptions {
    std::vector<std::string> nodes = add("NODE", nodes, kNodesHelp, required_text());
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

Result<ExitCode> run_resume(const ResumeOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_nodes(client, options.nodes));
    std::vector<pb::Node> resumed;
    for (const std::string& id : ids) {
        pb::ResumeNodeRequest request;
        request.set_node_id(id);
        RM_TRY(pb::Node node, client.call(&pb::NodeService::Stub::Resume, request));
        context.console.note(
            format("{} is in service{}", node_line(node),
                   node.session_up() ? "" : " as soon as its worker connects again"));
        resumed.push_back(std::move(node));
    }
    print_each(context.console.out, options.output, resumed);
    return ExitCode::ok;
}

}  // namespace

Verb resume_verb() {
    return verb_of("resume", "Take drained nodes back into service", run_resume,
                   {{"ringmaster resume node-7", "back into service"}});
}

}  // namespace rm
