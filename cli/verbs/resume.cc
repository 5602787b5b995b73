#include "cli/node_names.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const ResumeOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_nodes(client, options.nodes));
    std::vector<pb::Node> resumed;
    for (const std::string& id : ids) {
        RM_TRY(pb::Node node, client.resume(id));
        context.console.note(
            format("{} is in service{}", node_line(node),
                   node.session_up() ? "" : " as soon as its worker connects again"));
        resumed.push_back(std::move(node));
    }
    print_each(context.console.out, options.output, resumed);
    return ExitCode::ok;
}

}  // namespace rm
