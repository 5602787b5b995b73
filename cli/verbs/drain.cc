#include "cli/job_tables.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

std::string outcome(const pb::Node& node, const DrainOptions& options) {
    const std::string line = format("node {} ({})", node.id(), node.inventory().hostname());
    switch (options.mode) {
        case DrainMode::gone:
            return line +
                   " is gone; its devices are waited for no more. A worker that says hello "
                   "from it brings it back";
        case DrainMode::keep_running:
            return format(
                "{} is drained ({}): nothing new is placed there, {} busy device{} may "
                "finish. `ringmaster resume {}` takes it back",
                line, node.drained(), node.busy_devices_size(),
                node.busy_devices_size() == 1 ? "" : "s", node.id());
        case DrainMode::stop_with_checkpoint:
            break;
    }
    return format(
        "{} is drained ({}): nothing new is placed there, what runs on its {} busy "
        "device{} stops with a checkpoint. `ringmaster resume {}` takes it back",
        line, node.drained(), node.busy_devices_size(), node.busy_devices_size() == 1 ? "" : "s",
        node.id());
}

}  // namespace

Result<ExitCode> run_verb(const DrainOptions& options, VerbContext& context) {
    if (options.mode == DrainMode::gone && !options.yes &&
        !context.console.confirm(format("Does the machine of node {} no longer exist? Ranks that "
                                        "still ran there would train beside their successors.",
                                        options.node))) {
        context.console.note("nothing was changed");
        return ExitCode::error;
    }
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::Node node, client.drain(options.node, options.reason, options.mode));
    context.console.note(outcome(node, options));
    print_one(context.console.out, options.output, node);
    return ExitCode::ok;
}

}  // namespace rm
