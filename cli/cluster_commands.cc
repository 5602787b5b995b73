#include "cli/command_table.h"
#include "options/checks.h"

namespace rm {
namespace {

constexpr const char* kNodesHelp = "Node names, ids, or unique prefixes of ids";

void add_node_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& nodes = verbs.add("nodes", "List nodes", all.nodes);
    nodes.add_option("NODE", all.nodes.nodes, "Only these: names, ids, or unique prefixes of ids");
    add_output(nodes, all.nodes.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& drain =
        verbs.add("drain", "Drain nodes: move their jobs elsewhere and schedule nothing new there",
                  all.drain);
    DrainOptions& options = all.drain;
    drain.add_option("NODE", options.nodes, kNodesHelp)->required()->check(not_empty());
    drain.add_option("--reason", options.reason, "Reason, shown in `nodes -o wide`")
        ->type_name("TEXT");
    CLI::Option* keep = drain.add_flag_callback(
        "--keep-running", [&options] { options.mode = DrainMode::keep_running; },
        "Let running jobs finish");
    CLI::Option* gone = drain.add_flag_callback(
        "--gone", [&options] { options.mode = DrainMode::gone; },
        "The machine is gone: do not wait for its ranks");
    gone->excludes(keep);
    drain.add_flag("-y,--yes", options.yes, "Do not ask");
    add_output(drain, options.output, {"name", "json", "yaml"});

    CLI::App& resume = verbs.add("resume", "Take drained nodes back into service", all.resume);
    resume.add_option("NODE", all.resume.nodes, kNodesHelp)->required()->check(not_empty());
    add_output(resume, all.resume.output, {"name", "json", "yaml"});
}

void add_link_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& links =
        verbs.add("links", "Show the measured links: a map, or the history of one", all.links);
    CLI::Option* from = links.add_option(
        "FROM", all.links.from, "A node; with TO: every measurement of this link, newest first");
    CLI::Option* to = links.add_option("TO", all.links.to, "The node at the other end");
    from->needs(to);
    links.add_flag("--matrix", all.links.matrix, "Rates instead of shades");
    links.add_option("--limit", all.links.limit, "Measurements of the history [100]")
        ->type_name("N")
        ->check(whole_number(1));
    add_output(links, all.links.output, {"table", "json", "yaml"});

    CLI::App& survey = verbs.add("survey", "Measure every link again", all.survey);
    survey.add_flag("--wait", all.survey.wait, "Wait until it has ended");
    add_output(survey, all.survey.output, {"name", "json", "yaml"});
}

void add_place_verb(Verbs& verbs, AllOptions& all) {
    PlaceOptions& options = all.place;
    CLI::App& place =
        verbs.add("place", "Compute a placement from measured links (offline)", options);
    place.add_option("--links", options.links, "The link file (docs/formats/links.md)")
        ->type_name("FILE")
        ->required();
    CLI::Option* mesh = place
                            .add_option("--mesh", options.mesh,
                                        "data=2,ring=4,ulysses=1,tensor=2; inner=N cuts the ring")
                            ->type_name("MESH");
    place
        .add_option(
            "--bytes", options.bytes,
            "Bytes that a rank sends in a step, instead of --model: ring=64MiB,tensor=...; :N "
            "after it, in N messages")
        ->type_name("BYTES");
    place
        .add_option("--model", options.model,
                    "A preset; its bytes follow from docs/communication.md")
        ->type_name("PRESET");
    place.add_option("--context", options.context, "Tokens of a sequence, with --model")
        ->type_name("TOKENS")
        ->needs("--model");
    place
        .add_option("--batch", options.batch,
                    "Tokens of a step, with --model [a sequence per data rank]")
        ->type_name("TOKENS")
        ->needs("--model");
    place.add_option("--zero", options.zero, "ZeRO stage, with --model [0]")
        ->type_name("N")
        ->check(whole_number(0, 3))
        ->needs("--model");
    place.add_option("--precision", options.precision, "Precision of compute, with --model [bf16]")
        ->type_name("bf16|fp32")
        ->check(one_of({"bf16", "fp32"}))
        ->needs("--model");
    place.add_option("--forbid", options.forbidden, "Never use a node, or a device of one")
        ->type_name("NODE[:DEVICE]");
    place.add_option("--prefer", options.preferred, "Use these first where it costs no time")
        ->type_name("NODE[:DEVICE]");
    place.add_option("--seed", options.seed, "Seed of the search [1]")
        ->type_name("N")
        ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
    place.add_option("--budget", options.budget, "Evaluations of the search [by size]")
        ->type_name("N")
        ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()));
    place.add_flag("--slurm", options.slurm, "Print Slurm's topology.conf of the links instead")
        ->excludes(mesh);
    add_output(place, options.output, {"table", "json", "yaml"});
}

}  // namespace

void add_cluster_commands(Verbs& verbs, AllOptions& all) {
    verbs.begin_group("Nodes and links");
    add_node_verbs(verbs, all);
    add_link_verbs(verbs, all);
    add_place_verb(verbs, all);
}

}  // namespace rm
