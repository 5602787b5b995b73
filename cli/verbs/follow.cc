#include "cli/client/follow.h"

#include "cli/client/calls.h"
#include "cli/client/curves.h"
#include "cli/show/plot_text.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

struct FollowOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
};

Result<ExitCode> run_follow(const FollowOptions& options, VerbContext& context) {
    Signals signals;  // before the first thread of gRPC
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    return follow_job(id, client, signals, context);
}

// On a terminal: the curve of what was followed.
void draw_loss(const std::string& id, const Client& client, const Output& out) {
    if (!out.terminal) return;
    const auto curve = read_curve(client, id, "loss", 0, 2 * out.width);
    if (!curve || curve->steps_size() < 2) return;
    const Plot plot{"loss (nats)", curve->unit(), {line_of(*curve, id)}};
    for (const std::string& line :
         draw_plot(out, plot, {.width = out.width, .height = 8}, PlotScale::linear))
        out.stream << line << '\n';
    out.stream << std::flush;
}

}  // namespace

Result<ExitCode> follow_job(const std::string& id, Client& client, Signals& signals,
                            VerbContext& context) {
    ProgressDisplay display(context.console.err);
    JobFollower follower(display);
    const Watch watch = watch_of(client, id);
    while (!follower.ended()) {
        RM_RETURN_IF_ERROR(follow(watch, follower, display, signals.token()));
        if (follower.ended() || signals.take().interrupts == 0) continue;
        display.finish();
        context.console.note(
            format("Detached; job {} keeps running. Stop it: `ringmaster cancel {}`. Look at it: "
                   "`ringmaster follow {}`",
                   id, id, id));
        return ExitCode::interrupted;
    }
    display.finish();
    draw_loss(id, client, context.console.err);
    return exit_code_of(follower.job());
}

Status print_new_job(const std::string& id, OutputFormat format, Client& client,
                     VerbContext& context) {
    std::ostream& out = context.console.out.stream;
    if (format == OutputFormat::name) {
        out << id << '\n' << std::flush;
        return {};
    }
    RM_TRY(const pb::Job job, get_job(client, id));
    print_one(context.console.out, format, job);
    out << std::flush;
    return {};
}

Verb follow_verb() {
    return verb_of("follow", "Show a job until it ends, and exit as it did; Ctrl-C detaches",
                   run_follow,
                   {{"ringmaster follow a1b2c3", "Ctrl-C detaches; the job keeps running"}});
}

}  // namespace rm
