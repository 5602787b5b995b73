#include "cli/fleet/machine_text.h"
#include "cli/fleet/options.h"
#include "cli/verbs/common.h"
#include "service/job_file/price_list.h"

namespace rm {
namespace {

struct FleetLsOptions : FleetOptions {
    OutputFormat output = add_output(output, "table|json|yaml|name");
};

struct FleetShapesOptions : FleetOptions {
    std::string prices =
        add("--prices", prices, "What devices cost (docs/formats/prices.md)", {.type = "FILE"});
    OutputFormat output = add_output(output, "table|json|yaml|name");
};

Result<ExitCode> run_fleet_ls(const FleetLsOptions& options, VerbContext& context) {
    RM_TRY(CrusoeApi api, open_cloud(options, context));
    RM_TRY(const std::vector<Machine> machines, api.machines());
    const Output& out = context.console.out;
    if (is_document(options.output)) {
        print_json(out.stream, machines_json(machines), options.output);
    } else if (options.output == OutputFormat::name) {
        for (const Machine& machine : machines)
            out.stream << out.data(machine.name) << '\n';
    } else {
        machines_table(machines).print(out);
    }
    return ExitCode::ok;
}

Result<ExitCode> run_fleet_shapes(const FleetShapesOptions& options, VerbContext& context) {
    PriceList prices;
    if (!options.prices.empty()) {
        RM_TRY(prices, read_price_list(options.prices));
    }
    RM_TRY(CrusoeApi api, open_cloud(options, context));
    RM_TRY(const std::vector<Shape> shapes, api.shapes());
    const Output& out = context.console.out;
    if (is_document(options.output)) {
        print_json(out.stream, shapes_json(shapes, prices), options.output);
    } else if (options.output == OutputFormat::name) {
        for (const Shape& shape : shapes)
            out.stream << out.data(shape.name) << '\n';
    } else {
        shapes_table(shapes, prices).print(out);
    }
    return ExitCode::ok;
}

}  // namespace

Result<CrusoeApi> open_cloud(const FleetOptions& options, const VerbContext& context) {
    RM_TRY(CrusoeConfig config, find_crusoe_config({.file = options.file,
                                                    .profile = options.profile,
                                                    .project = options.project,
                                                    .endpoint = options.endpoint},
                                                   environment_lookup));
    return CrusoeApi(std::move(config), context.clock);
}

Result<WaitRules> wait_rules(const std::string& timeout) {
    WaitRules rules;
    RM_TRY(rules.limit, within("--timeout", parse_seconds(timeout)));
    return rules;
}

Result<bool> confirmed(Console& console, const std::string& question, bool yes) {
    if (yes) return true;
    if (!console.in.terminal || !console.err.terminal)
        return invalid_argument("there is nobody to ask '{}'; --yes answers it", question);
    if (console.confirm(question)) return true;
    console.note("nothing was changed");
    return false;
}

Verb fleet_verb() {
    return {"fleet",
            "Rent machines of Crusoe Cloud, and give them back (docs/discovery.md)",
            nullptr,
            {verb_of("shapes", "List shapes of machines", run_fleet_shapes,
                     {{"ringmaster fleet shapes --prices prices.yaml", "and what they cost"}}),
             verb_of("ls", "List the project's machines", run_fleet_ls,
                     {{"ringmaster fleet ls -o json", ""}}),
             fleet_create_verb(), fleet_delete_verb()}};
}

}  // namespace rm
