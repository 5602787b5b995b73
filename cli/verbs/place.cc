#include "base/words.h"
#include "cli/document.h"
#include "cli/links_file.h"
#include "cli/placement_arguments.h"
#include "cli/placement_text.h"
#include "cli/slurm_topology.h"
#include "cli/verbs/verbs.h"
#include "planner/placement/explain.h"

namespace rm {
namespace {

// A file that is not there, or is wrong: the codes of a job file.
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
    RM_TRY(question.traffic, traffic_of(options, question.mesh));
    RM_TRY(question.forbidden, parse_devices(options.forbidden, graph));
    RM_TRY(question.preferred, parse_devices(options.preferred, graph));
    return question;
}

// Times go where they do not make two equal answers differ.
void note_times(Console& console, const LinkGraph& graph, Seconds read, Seconds solved) {
    console.note(format("{}, {}: links read in {}, placed in {}",
                        counted(graph.num_nodes(), "node"), counted(graph.num_devices(), "device"),
                        to_string(read), to_string(solved)));
}

std::string how_good(const Solution& solution) {
    return solution.optimal ? "proved least" : format("best of {} tried", solution.evaluations);
}

}  // namespace

Result<ExitCode> run_verb(const PlaceOptions& options, VerbContext& context) {
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
        print_json(console.out.stream, placement_json(report, solution),
                   document_format(options.output));
    }
    return ExitCode::ok;
}

}  // namespace rm
