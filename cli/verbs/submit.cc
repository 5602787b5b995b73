#include <algorithm>
#include <filesystem>

#include "cli/client/calls.h"
#include "cli/input/job_input.h"
#include "cli/screen/question.h"
#include "cli/show/cluster_plan.h"
#include "cli/verbs/common.h"
#include "service/machine.h"
#include "spec/machine/roots.h"

namespace rm {
namespace {

struct SubmitOptions : VerbOptions {
    std::string file = add("FILE", file, "The job file; - reads stdin", {.required = true});
    std::vector<std::string> set = add("--set", set,
                                       "Set a value of the job file, such as "
                                       "stages.0.learning_rate=1e-3; may be given several times",
                                       {.type = "KEY=VALUE", .one_value = true});
    std::string name =
        add("--name", name, "Name the job; instead of the file's name", {.type = "NAME"});
    std::string from = add("--from", from,
                           "Start from this checkpoint, or the newest of this directory, instead "
                           "of the file's checkpoint.from",
                           {.type = "DIR"});
    bool dry_run = add("--dry-run", dry_run, "Only print the plan that the job would get");
    bool yes = add("-y,--yes", yes, "Submit without asking");
    bool follow = add("--follow", follow, kFollowHelp, {.excludes = "--dry-run"});
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

WorkersAre where(const Fleet& fleet) {
    const std::string own = machine_identity();
    const bool all_here = std::all_of(
        fleet.nodes.begin(), fleet.nodes.end(),
        [&](const pb::Node& node) { return !node.session_up() || node.machine() == own; });
    return all_here && !own.empty() ? WorkersAre::here : WorkersAre::elsewhere;
}

// The usable devices, including those of nodes that may come back.
UsableDevices devices_for(const Fleet& fleet, const std::string& kind) {
    UsableDevices devices;
    for (const pb::Node& node : fleet.nodes) {
        if (node.state() == pb::NODE_STATE_GONE) continue;
        for (const pb::Device& device : node.inventory().devices()) {
            if (!kind.empty() && device.kind() != kind) continue;
            ++devices.number;
            devices.largest = std::max(devices.largest, Bytes{device.memory_bytes()});
        }
    }
    return devices;
}

std::vector<std::string> overrides_of(const SubmitOptions& options) {
    std::vector<std::string> overrides = options.set;
    if (!options.name.empty()) overrides.push_back("name=" + options.name);
    return overrides;
}

// Workers have another working directory. ROOT:PATH means the same to them.
std::string as_workers_see(const std::string& path) {
    return parse_root_path(path) ? path : std::filesystem::absolute(path).string();
}

// Whether a user is there to look at a plan: not where stdout is for a program or stdin is the job.
bool has_user(const SubmitOptions& options, const Console& console) {
    return console.in.terminal && console.out.terminal && !is_document(options.output) &&
           options.file != "-";
}

// Shows the plan to a user who is there, and asks. An error is what Submit would refuse the
// job for.
Result<Answer> ask_user(const SubmitOptions& options, const pb::JobSpec& spec, const Client& client,
                        Signals* signals, Console& console) {
    if (!has_user(options, console)) return Answer::yes;
    RM_RETURN_IF_ERROR(print_plan_to_submit(console.out, plan_job(client, spec)));
    if (options.yes) return Answer::yes;
    const Answer answer = ask(console.out, "Submit it?", typed_lines(console.in, signals));
    if (answer == Answer::no) console.out.stream << "nothing was submitted\n";
    return answer;
}

Result<ExitCode> run_submit(const SubmitOptions& options, VerbContext& context) {
    auto spec = read_job_file(options.file, overrides_of(options));
    if (!spec) return complain(context.console, spec.error(), ExitCode::usage);
    if (!options.from.empty()) spec->mutable_checkpoint()->set_from(as_workers_see(options.from));
    // Before the first thread of gRPC, and only if Ctrl-C does not simply end the process.
    std::optional<Signals> signals;
    if (options.follow) signals.emplace();
    RM_TRY(Client client, context.connect());
    RM_TRY(const Fleet fleet, read_fleet(client));
    RM_TRY(const JobSpec values, from_proto(*spec));
    const Workers workers{where(fleet), devices_for(fleet, values.resources.kind)};
    const Status inputs = check_inputs(values, workers, std::filesystem::current_path().string());
    if (!inputs) return complain(context.console, inputs.error(), ExitCode::usage);
    if (options.dry_run) {
        RM_TRY(const pb::PlanReply plan, plan_job(client, *spec));
        print_cluster_plan(context.console.out, plan);
        return plan.has_plan() ? ExitCode::ok : ExitCode::rejected;
    }
    RM_TRY(const Answer answer,
           ask_user(options, *spec, client, signals ? &*signals : nullptr, context.console));
    if (answer == Answer::no) return ExitCode::interrupted;
    RM_TRY(const std::string id, submit_job(client, *spec));
    RM_RETURN_IF_ERROR(print_new_job(id, options.output, client, context));
    if (!signals) return ExitCode::ok;
    return follow_job(id, client, *signals, context);
}

}  // namespace

Verb submit_verb() {
    return verb_of(
        "submit", "Submit a job file; prints the job's id", run_submit,
        {{"ringmaster submit job.yaml --follow", "watch it until it ends"},
         {"ringmaster submit job.yaml --set stages.0.learning_rate=1e-3 --name warm",
          "the same with another value"},
         {"ringmaster submit job.yaml --from checkpoints/e1-s500", "start from a checkpoint"}});
}

}  // namespace rm
