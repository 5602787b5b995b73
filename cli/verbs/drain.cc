#include "cli/job_tables.h"
#include "cli/node_names.h"
#include "cli/text.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

std::string outcome(const pb::Node& node, const DrainOptions& options) {
    const std::string line = node_line(node);
    if (options.mode == DrainMode::gone)
        return line +
               " is gone: nothing waits for its devices any more. It comes back when its worker "
               "connects";
    const std::string running =
        options.mode == DrainMode::keep_running
            ? format("jobs on its {} may finish", counted(node.busy_devices_size(), "busy device"))
            : format("jobs on its {} stop with a checkpoint and move elsewhere",
                     counted(node.busy_devices_size(), "busy device"));
    return format(
        "{} is drained ({}): nothing new is scheduled there; {}. To undo: `ringmaster resume {}`",
        line, node.drained(), node.busy_devices_size() == 0 ? "nothing runs there" : running,
        node.id());
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

}  // namespace

Result<ExitCode> run_verb(const DrainOptions& options, VerbContext& context) {
    if (options.mode == DrainMode::gone && !options.yes &&
        !context.console.confirm(format("Is the machine of node {} really gone? Ranks that still "
                                        "run there would train beside their successors.",
                                        joined(options.nodes)))) {
        context.console.note("nothing was changed");
        return ExitCode::error;
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<std::string> ids, find_nodes(client, options.nodes));
    std::vector<pb::Node> drained;
    for (const std::string& id : ids) {
        RM_TRY(pb::Node node, client.drain(id, options.reason, options.mode));
        context.console.note(outcome(node, options));
        drained.push_back(std::move(node));
    }
    print_each(context.console.out, options.output, drained);
    return ExitCode::ok;
}

}  // namespace rm
