#include "cli/client/calls.h"
#include "cli/document.h"
#include "cli/input/fleet_file.h"
#include "cli/input/job_input.h"
#include "cli/input/placement_arguments.h"
#include "cli/show/cluster_plan.h"
#include "cli/show/plan_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "planner/placement/graph_devices.h"
#include "planner/search/cost_limit.h"
#include "planner/search/extremes.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "service/job_file/price_list.h"

namespace rm {
namespace {

struct PlanOptions : VerbOptions {
    std::string file = add("FILE", file, "The job file; - reads stdin");
    std::string job = add("--job", job, "The plan of this job's newest attempt instead",
                          {.type = "ID", .excludes = "FILE"});
    std::vector<std::string> set =
        add("--set", set, "Set a value of the job file; may be given several times",
            {.type = "KEY=VALUE", .one_value = true});
    std::string fleet =
        add("--fleet", fleet, "These machines (docs/formats/fleet.md), in place of the cluster's",
            {.type = "FILE"});
    std::string on = add("--on", on, "Or published ones: L40S*32, A100*8, H100*8, H200*8",
                         {.type = "KIND*N", .excludes = "--fleet"});
    std::string prices = add("--prices", prices,
                             "What these machines cost (docs/formats/prices.md)", {.type = "FILE"});
    std::vector<std::string> compare = add(
        "--compare", compare, "Rank these meshes only: ring=32 ring=8,ulysses=4", {.type = "MESH"});
    bool longest = add("--longest-context", longest,
                       "Print the longest context that some plan fits, in place of the job's");
    bool fewest = add("--fewest-devices", fewest, "Plan on the fewest devices that hold the job");
    bool cheapest = add("--cheapest", cheapest,
                        "Plan on the number of devices that finishes the job for least money");
    bool fastest =
        add("--fastest", fastest, "Plan on the number of devices that finishes the job first");
    int rows =
        add("--plans", rows, "Plans to rank [5]", {.type = "N", .check = whole_number(1, 1000)}, 5);
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<PricedFleet> fleet_of(const PlanOptions& options) {
    auto fleet =
        options.fleet.empty() ? parse_fleet_argument(options.on) : read_fleet_file(options.fleet);
    if (!fleet || options.prices.empty()) return fleet;
    RM_TRY(const PriceList prices, read_price_list(options.prices));
    const std::string& kind = fleet->fleet.device.name;
    const auto found = prices.find(kind);
    if (found == prices.end())
        return make_error(ErrorCode::not_found, "{} has no price of {}", options.prices, kind);
    fleet->rates = found->second;
    return fleet;
}

// Published machines can be rented in any number.
LargerFleet larger_fleet(const PlanOptions& options) {
    if (options.on.empty()) return nullptr;
    const std::string kind = options.on.substr(0, options.on.find('*'));
    return [kind](int devices) -> Result<FleetSpec> {
        RM_TRY(PricedFleet fleet, parse_fleet_argument(format("{}*{}", kind, devices)));
        return std::move(fleet.fleet);
    };
}

// As many devices as the job names; all without.
Result<int> devices_of(const JobSpec& spec, const FleetSpec& fleet) {
    const int all = fleet.num_devices();
    const int wanted = spec.num_ranks().value_or(all);
    if (wanted <= all) return wanted;
    return make_error(ErrorCode::resource_exhausted, "the job needs {} devices; the fleet has {}",
                      wanted, all);
}

// A question and what its options made of it.
struct Planned {
    JobSpec spec;
    PricedFleet fleet;
    ModelConfig model;
    int devices = 0;
    std::vector<Mesh> meshes;
    std::vector<Endpoint> places;  // that the job names, in its order
    std::optional<SpeedUp> speed_up;

    SearchQuestion question() const {
        return {.spec = spec,
                .model = model,
                .fleet = fleet.fleet,
                .devices = devices,
                .meshes = meshes,
                .places = places,
                .in_order = !places.empty()};
    }
};

Result<std::vector<Endpoint>> named_places(const JobSpec& spec, const LinkGraph& links) {
    const GraphDevices known(links);
    std::vector<Endpoint> places;
    for (const DeviceId& device : spec.resources.placement) {
        const auto place = known.find(device);
        if (!place) {
            return make_error(ErrorCode::not_found,
                              "resources.placement: the fleet has no device {}", device);
        }
        places.push_back(*place);
    }
    return places;
}

Result<Planned> planned(const PlanOptions& options, JobSpec spec, PricedFleet fleet) {
    Planned plan{.spec = std::move(spec), .fleet = std::move(fleet)};
    for (const std::string& text : options.compare) {
        auto mesh = parse_mesh_argument(text);
        if (!mesh) return make_error(mesh.error().code, "--compare {}", mesh.error().message);
        plan.meshes.push_back(*mesh);
    }
    RM_TRY(plan.model, planned_model(plan.spec));
    RM_TRY(plan.devices, devices_of(plan.spec, plan.fleet.fleet));
    RM_TRY(plan.places, named_places(plan.spec, plan.fleet.fleet.links));
    if (!plan.meshes.empty()) plan.devices = plan.meshes.front().num_ranks();
    if (plan.devices <= plan.fleet.fleet.num_devices()) return plan;
    return make_error(ErrorCode::resource_exhausted,
                      "--compare {} needs {} devices; the fleet has {}", options.compare.front(),
                      plan.devices, plan.fleet.fleet.num_devices());
}

Result<ExitCode> print_longest(const Planned& plan, const PlanOptions& options, Console& console) {
    RM_TRY(const std::int64_t context, longest_context(plan.question()));
    if (options.output == OutputFormat::table) {
        console.out.stream << format("{} {} hold sequences of {} tokens\n", plan.devices,
                                     plan.fleet.fleet.device.name, context_text(context));
    } else {
        print_json(console.out.stream, format("{{\"longest_context\": {}}}", context),
                   options.output);
    }
    return context > 0 ? ExitCode::ok : ExitCode::rejected;
}

// The number that finishes for least; 0: no plan fits on any.
int cheapest_devices(const Planned& plan) {
    const auto best = cheapest_plan(plan.question());
    return best ? best->sharding.mesh.num_ranks() : 0;
}

// Likewise the number that finishes first.
int fastest_devices(Planned& plan) {
    const auto best = fastest_plan(plan.question());
    if (!best) return 0;
    plan.speed_up = best->over;
    return best->plan.sharding.mesh.num_ranks();
}

Result<int> wanted_devices(const PlanOptions& options, Planned& plan) {
    if (options.fewest) return fewest_devices(plan.question());
    return options.fastest ? fastest_devices(plan) : cheapest_devices(plan);
}

Status apply_options(const PlanOptions& options, Planned& plan) {
    if (!options.fewest && !options.cheapest && !options.fastest) return {};
    plan.spec.resources.devices = 0;
    RM_TRY(const int devices, wanted_devices(options, plan));
    // None: the plan says on all of them by how much they are too small.
    plan.devices = devices > 0 ? devices : plan.fleet.fleet.num_devices();
    return {};
}

// The job's max_cost_usd against the fastest plan.
std::optional<Reason> cost_problem(const Planned& plan, const SearchResult& result) {
    if (result.ranked.empty()) return std::nullopt;
    const RankedPlan& best = result.ranked.front();
    CostQuestion question{plan.spec, plan.fleet.fleet.device.name, plan.fleet.rates};
    question.price_remedy = "give --prices FILE, or price in the fleet's file";
    auto reason =
        over_cost_limit(question, to_string(best.sharding), plan.devices, best.time(plan.spec));
    if (reason && reason->remedy.empty())
        reason->remedy =
            cheapest_text(question, plan.question(),
                          cost_of(question.rates, plan.devices, best.time(plan.spec)).money);
    return reason;
}

int questions(const PlanOptions& options) {
    return options.longest + options.fewest + options.cheapest + options.fastest;
}

// The other options ask about machines that a file or a kind describes.
Result<ExitCode> plan_on_cluster(const PlanOptions& options, const pb::JobSpec& spec,
                                 VerbContext& context) {
    if (questions(options) > 0 || !options.compare.empty() || !options.prices.empty()) {
        return complain(
            context.console,
            invalid_argument("--compare, --longest-context, --fewest-devices, "
                             "--cheapest, --fastest and --prices need the machines: --fleet FILE, "
                             "or --on KIND*N"),
            ExitCode::usage);
    }
    RM_TRY(const Client client, context.connect());
    RM_TRY(const pb::PlanReply plan, plan_job(client, spec));
    print_reply(context.console.out, options.output, plan,
                [&] { print_cluster_plan(context.console.out, plan); });
    return plan.has_plan() ? ExitCode::ok : ExitCode::rejected;
}

Result<ExitCode> plan_of_job(const PlanOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    pb::PlanDetailRequest request;
    RM_TRY(*request.mutable_job_id(), find_job(client, options.job));
    RM_TRY(const pb::PlanDetailReply reply,
           client.call(&pb::JobService::Stub::PlanDetail, request));
    print_reply(context.console.out, options.output, reply,
                [&] { print_plan_detail(context.console.out, reply); });
    return ExitCode::ok;
}

Result<ExitCode> run_plan(const PlanOptions& options, VerbContext& context) {
    Console& console = context.console;
    if (!options.job.empty()) return plan_of_job(options, context);
    if (options.file.empty()) {
        return complain(console, invalid_argument("give FILE, a job file, or --job ID"),
                        ExitCode::usage);
    }
    const MonoTime start = context.clock.mono();
    const auto file = read_job_file(options.file, options.set);
    if (!file) return complain(console, file.error(), ExitCode::usage);
    if (questions(options) > 1) {
        return complain(console,
                        invalid_argument("--longest-context, --fewest-devices, --cheapest and "
                                         "--fastest exclude each other; keep one"),
                        ExitCode::usage);
    }
    if (options.fleet.empty() && options.on.empty())
        return plan_on_cluster(options, *file, context);
    RM_TRY(JobSpec spec, from_proto(*file));
    auto fleet = fleet_of(options);
    if (!fleet) return complain(console, fleet.error(), ExitCode::usage);
    RM_TRY(Planned plan, planned(options, std::move(spec), *std::move(fleet)));
    if (options.longest) return print_longest(plan, options, console);
    RM_RETURN_IF_ERROR(apply_options(options, plan));
    RM_TRY(const SearchResult result, search_plans(plan.question(), {.ranked = options.rows}));
    std::vector<Remedy> remedies;
    if (result.ranked.empty()) {
        RM_TRY(remedies, remedies_for(plan.question(), larger_fleet(options)));
    }
    const std::optional<Reason> too_dear = cost_problem(plan, result);
    const PlanAnswer answer{plan.spec, plan.model, plan.fleet, plan.devices,
                            result,    remedies,   too_dear,   plan.speed_up};
    if (options.output == OutputFormat::table) {
        print_plan(console.out, answer);
    } else {
        print_json(console.out.stream, plan_json(answer), options.output);
    }
    console.note(format("{} of {} ways to share the work searched in {}", result.searched,
                        result.shardings, to_string(context.clock.mono() - start)));
    return result.ranked.empty() || too_dear ? ExitCode::rejected : ExitCode::ok;
}

}  // namespace

Verb plan_verb() {
    return verb_of("plan", "Say what a job will take, before it is submitted", run_plan,
                   {{"ringmaster plan job.yaml", "on the cluster, as if nothing else ran"},
                    {"ringmaster plan --job a1b2c3", "of a job, beside its other meshes"},
                    {"ringmaster plan job.yaml --on 'L40S*32'", "on rented nodes"},
                    {"ringmaster plan job.yaml --fleet fleet.yaml -o json", "on these machines"},
                    {"ringmaster plan job.yaml --on 'L40S*8' --longest-context", ""}});
}

}  // namespace rm
