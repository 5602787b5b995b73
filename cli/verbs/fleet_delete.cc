#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/fleet/machine_text.h"
#include "cli/fleet/options.h"
#include "cli/show/job_text.h"
#include "cli/verbs/common.h"
#include "controller/discovery/reconcile.h"

namespace rm {
namespace {

constexpr int kLooks = 5;  // for a machine whose deletion has no answer

struct FleetDeleteOptions : FleetOptions {
    std::vector<std::string> names =
        add("NAME", names, "Names or ids of machines", required_text());
    bool busy = add("--busy", busy, "Also machines on which jobs run");
    std::string timeout =
        add("--timeout", timeout, "How long to wait for each [15m]", {.type = "SPAN"}, "15m");
    bool yes = add("-y,--yes", yes, "Do not ask");
};

using JobsByMachine = std::map<std::string, std::vector<std::string>>;  // by id of the machine

std::vector<std::string> jobs_on(const NodeId& node, const std::vector<pb::Job>& jobs) {
    std::vector<std::string> ids;
    for (const pb::Job& job : jobs) {
        if (job.attempts().empty() || has_ended(job)) continue;
        const auto& places = job.attempts(job.attempts_size() - 1).placement();
        const bool there = std::any_of(places.begin(), places.end(), [&](const auto& place) {
            return place.node_id() == node.value;
        });
        if (there) ids.push_back(job.id());
    }
    return ids;
}

// The jobs on each machine, as the controller tells, if it answers.
Result<JobsByMachine> running_jobs(const std::vector<Machine>& machines, VerbContext& context) {
    RM_TRY(const Target target, find_controller(context.target, environment_lookup));
    RM_TRY(const Client client, Client::open(target, [](std::string_view) {}));
    RM_TRY(const Fleet fleet, read_fleet(client));
    RM_TRY(const std::vector<pb::Job> jobs, live_jobs(client));
    std::vector<NodeFacts> nodes;
    for (const pb::Node& node : fleet.nodes)
        nodes.push_back(
            {{node.id()}, node.inventory().hostname(), node.inventory().data_address()});
    JobsByMachine found;
    for (const MachineRow& row : reconcile(machines, nodes, {})) {
        for (const NodeId& node : row.nodes)
            for (std::string& id : jobs_on(node, jobs))
                found[row.machine.id].push_back(std::move(id));
    }
    return found;
}

// Shows what the controller knows of the machines; refuses busy ones.
Status check_idle(const std::vector<Machine>& machines, const FleetDeleteOptions& options,
                  VerbContext& context) {
    const Result<JobsByMachine> jobs = running_jobs(machines, context);
    if (!jobs) {
        context.console.note(
            format("whether jobs run there is not known: {}", jobs.error().message));
        return {};
    }
    for (const Machine& machine : machines) {
        const auto busy = jobs->find(machine.id);
        if (busy == jobs->end()) continue;
        const std::string text = format("{} {} on {}", plural(busy->second.size(), "job"),
                                        join(busy->second), machine.name);
        if (!options.busy)
            return make_error(ErrorCode::failed_precondition,
                              "{}: nothing was deleted. `ringmaster drain {}` moves them away; "
                              "--busy deletes it all the same",
                              text, machine.name);
        context.console.note(text);
    }
    return {};
}

// Whether the machine is gone from the list, after a few looks.
Result<bool> has_vanished(CrusoeApi& api, const Machine& machine, const Signals& signals) {
    for (int look = 1; look <= kLooks; ++look) {
        RM_TRY(const std::vector<Machine> all, api.machines());
        const bool there = std::any_of(all.begin(), all.end(),
                                       [&](const Machine& m) { return m.id == machine.id; });
        if (!there) return true;
        signals.wait_for(Seconds{1});
        if (signals.token().stop_requested()) return false;
    }
    return false;
}

// Why it still stands; empty: it is gone.
Result<std::string> remove(CrusoeApi& api, const Machine& machine, const WaitRules& rules,
                           const Signals& signals) {
    const Result<CloudOperation> begun = api.remove(machine.id);
    if (!begun && begun.error().code == ErrorCode::unknown) {
        RM_TRY(const bool vanished, has_vanished(api, machine, signals));
        return vanished ? std::string() : begun.error().message;
    }
    if (!begun) return begun.error().message;
    RM_TRY(const Waited waited, wait_for_operation(api, *begun, rules, signals));
    if (waited.how != Wait::ended) return format("Crusoe still works on it ({})", begun->id);
    if (waited.last.state == OperationState::succeeded) return std::string();
    return format("{}: {}", waited.last.code, waited.last.message);
}

Result<ExitCode> remove_all(CrusoeApi& api, const std::vector<Machine>& machines,
                            const WaitRules& rules, Console& console) {
    const Signals signals;
    ExitCode code = ExitCode::ok;
    for (const Machine& machine : machines) {
        if (signals.token().stop_requested()) return ExitCode::interrupted;
        const Result<std::string> why = remove(api, machine, rules, signals);
        const std::string text = why ? *why : why.error().message;
        if (text.empty()) {
            console.note(format("{}: deleted", machine.name));
            console.out.stream << console.out.data(machine.name) << '\n';
        } else {
            console.note(format("{}: still there, as far as is known: {}", machine.name, text));
            code = ExitCode::error;
        }
    }
    return code;
}

Result<ExitCode> run_fleet_delete(const FleetDeleteOptions& options, VerbContext& context) {
    Console& console = context.console;
    RM_TRY(const WaitRules rules, wait_rules(options.timeout));
    RM_TRY(CrusoeApi api, open_cloud(options, context));
    RM_TRY(const std::vector<Machine> all, api.machines());
    RM_TRY(const std::vector<Machine> picked, pick_machines(all, options.names));
    for (const Machine& machine : picked)
        console.note(format("{}  {}  {}  {}", machine.name, to_string(machine.state), machine.shape,
                            machine.id));
    RM_RETURN_IF_ERROR(check_idle(picked, options, context));
    const std::string question =
        format("Delete {} and the disks in {}?",
               picked.size() == 1 ? "this machine" : format("these {} machines", picked.size()),
               picked.size() == 1 ? "it" : "them");
    RM_TRY(const bool agreed, confirmed(console, question, options.yes));
    if (!agreed) return ExitCode::interrupted;
    return remove_all(api, picked, rules, console);
}

}  // namespace

Verb fleet_delete_verb() {
    return verb_of("delete", "Delete machines: shows them and the jobs on them, asks, waits",
                   run_fleet_delete,
                   {{"ringmaster fleet delete ring-1 ring-2", "none, if one name is unknown"}});
}

}  // namespace rm
