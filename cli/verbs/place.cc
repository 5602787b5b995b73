#include "base/words.h"
#include "cli/document.h"
#include "cli/input/links_file.h"
#include "cli/input/placement_arguments.h"
#include "cli/show/placement_text.h"
#include "cli/verb.h"
#include "planner/placement/explain.h"

namespace rm {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct PlaceOptions : VerbOptions {
    std::string links = add("--links", links, "The link file (docs/formats/links.md)",
                            {.type = "FILE", .required = true});
    std::string mesh =
        add("--mesh", mesh, "data=2,ring=4,ulysses=1,tensor=2; inner=N cuts the ring",
            {.type = "MESH"});
    std::string bytes = add("--bytes", bytes,
                            "Bytes that a rank sends in a step, instead of --model: "
                            "ring=64MiB,tensor=...; :N after it, in N messages",
                            {.type = "BYTES"});
    std::string model =
        add("--model", model, "A preset; its bytes follow from docs/communication.md",
            {.type = "PRESET"});
    std::string context = add("--context", context, "Tokens of a sequence, with --model",
                              {.type = "TOKENS", .needs = "--model"});
    std::string batch =
        add("--batch", batch, "Tokens of a step, with --model [a sequence per data rank]",
            {.type = "TOKENS", .needs = "--model"});
    int zero = add("--zero", zero, "ZeRO stage, with --model [0]",
                   {.type = "N", .check = whole_number(0, 3), .needs = "--model"});
    std::string precision =
        add("--precision", precision, "Precision of compute, with --model [bf16]",
            {.type = "bf16|fp32", .check = one_of({"bf16", "fp32"}), .needs = "--model"}, "bf16");
    std::vector<std::string> forbidden = add(
        "--forbid", forbidden, "Never use a node, or a device of one", {.type = "NODE[:DEVICE]"});
    std::vector<std::string> preferred = add(
        "--prefer", preferred, "Use these first where it costs no time", {.type = "NODE[:DEVICE]"});
    std::uint64_t seed = add("--seed", seed, "Seed of the search [1]",
                             {.type = "N", .check = whole_number(0, kMost)}, 1);
    std::int64_t budget = add("--budget", budget, "Evaluations of the search [by size]",
                              {.type = "N", .check = whole_number(1, kMost)});
    bool slurm = add("--slurm", slurm, "Print Slurm's topology.conf of the links instead",
                     {.excludes = "--mesh"});
    OutputFormat output = add_output(output, "table|json|yaml");
};

// A file that is missing or invalid: the same codes as for a job file.
ExitCode code_of_links(const Error& error) {
    return error.code == ErrorCode::not_found ? ExitCode::not_found : ExitCode::usage;
}

struct Question {
    Mesh mesh;
    StepTraffic traffic;
    std::vector<Endpoint> forbidden;
    std::vector<Endpoint> preferred;
};

Result<Question> question_of(const PlaceOptions& options, const LinkGraph& graph) {
    Question question;
    RM_TRY(question.mesh, parse_mesh_argument(options.mesh));
    RM_TRY(question.traffic, traffic_of({options.bytes, options.model, options.context,
                                         options.batch, options.precision, options.zero},
                                        question.mesh));
    RM_TRY(question.forbidden, parse_devices(options.forbidden, graph));
    RM_TRY(question.preferred, parse_devices(options.preferred, graph));
    return question;
}

// Prints times on stderr, so that equal answers have equal output.
void note_times(Console& console, const LinkGraph& graph, Seconds read, Seconds solved) {
    console.note(format("{}, {}: links read in {}, placed in {}",
                        counted(graph.num_nodes(), "node"), counted(graph.num_devices(), "device"),
                        to_string(read), to_string(solved)));
}

std::string how_good(const Solution& solution) {
    return solution.optimal ? "proved least" : format("best of {} tried", solution.evaluations);
}

Result<ExitCode> run_place(const PlaceOptions& options, VerbContext& context) {
    Console& console = context.console;
    const MonoTime start = context.clock.mono();
    const auto graph = read_links(options.links);
    if (!graph) return complain(console, graph.error(), code_of_links(graph.error()));
    const MonoTime read = context.clock.mono();
    if (options.slurm) {
        console.out.stream << console.out.data(slurm_topology(*graph));
        return ExitCode::ok;
    }
    const auto question = question_of(options, *graph);
    if (!question) return complain(console, question.error(), ExitCode::usage);
    const PlacementProblem problem{*graph, question->mesh, question->traffic, question->forbidden,
                                   question->preferred};
    RM_TRY(const Solution solution,
           solve_placement(problem, {.seed = options.seed, .budget = options.budget}));
    RM_RETURN_IF_ERROR(check_solution(problem, solution));
    note_times(console, *graph, read - start, context.clock.mono() - read);
    const PlacementReport report = report_placement(problem, solution.placement);
    if (options.output == OutputFormat::table) {
        print_placement(console.out, report, how_good(solution));
    } else {
        print_json(console.out.stream, placement_json(report, solution), options.output);
    }
    return ExitCode::ok;
}

}  // namespace

Verb place_verb() {
    return verb_of("place", "Compute a placement from measured links (offline)", run_place,
                   {{"ringmaster place --links links.json --mesh ring=4,tensor=2 --model llama3-8b "
                     "--context 64K",
                     ""},
                    {"ringmaster place --links links.json --slurm", "Slurm's topology.conf"}});
}

}  // namespace rm
