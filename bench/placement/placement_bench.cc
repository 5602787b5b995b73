#include <nlohmann/json.hpp>

#include <iostream>
#include <string_view>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/placement/planted.h"
#include "planner/placement/solver.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench placement [--nodes N] [--seeds N] [--budget N] [--json]\n"
    "Places ranks on N nodes (1024) of 8 devices whose links were made around a hidden placement,\n"
    "on one thread: its CPU time, and the predicted time of a step's communication with the "
    "answer,\n"
    "the hidden placement, and ranks in order of registration and of nodes. Exit code 1 if an\n"
    "answer is over 2 % above the hidden placement or worse than either order.\n";

constexpr double kMostAbove = 1.02;

struct Arguments {
    int num_nodes = 1024;
    std::uint64_t num_seeds = 1;  // 1 is the first
    std::int64_t budget = 0;
    Output output = Output::table;
};

struct Figures {
    std::string name;
    std::uint64_t seed = 0;
    std::string mesh;
    double hidden = 0;  // seconds of a step's communication
    Solution solution;
    double solved_in = 0;  // CPU seconds
};

Figures measure(Planted kind, std::uint64_t seed, const Arguments& arguments) {
    const PlantedProblem planted = plant(kind, arguments.num_nodes, seed);
    const PlacementProblem problem{planted.graph, planted.mesh, planted.traffic};
    Figures figures{std::string(to_string(kind)), seed, to_string(planted.mesh)};
    figures.hidden =
        placement_cost(Routes(planted.graph), planted.mesh, planted.traffic, planted.hidden)
            .total.value;
    const double start = thread_seconds();
    figures.solution = solve_placement(problem, {.seed = seed, .budget = arguments.budget}).value();
    figures.solved_in = thread_seconds() - start;
    const Status valid = check_solution(problem, figures.solution);
    RM_CHECK(valid.ok(), "{}", valid.error().message);
    return figures;
}

void print_row(const Figures& f) {
    const double ours = f.solution.cost.total.value;
    std::cout << format("{:<13} {:>4}  {:<32} {:7.2} s {:8.4} s {:8.4} s {:7.4} {:9.2}x {:9.2}x\n",
                        f.name, f.seed, f.mesh, f.solved_in, ours, f.hidden, ours / f.hidden,
                        f.solution.registration_cost.total.value / ours,
                        f.solution.by_node_cost.total.value / ours)
              << std::flush;
}

nlohmann::ordered_json json_of(const Figures& f) {
    return {{"kind", f.name},
            {"seed", f.seed},
            {"mesh", f.mesh},
            {"cpu_seconds", f.solved_in},
            {"evaluations", f.solution.evaluations},
            {"cost_seconds", f.solution.cost.total.value},
            {"hidden_seconds", f.hidden},
            {"registration_seconds", f.solution.registration_cost.total.value},
            {"node_order_seconds", f.solution.by_node_cost.total.value}};
}

// Whether the solver kept its promises.
bool run(const Arguments& arguments) {
    const bool table = arguments.output == Output::table;
    if (table) {
        std::cout << format(
            "{} nodes of 8 devices; `registered` and `by node`: how much slower these orders are\n"
            "planted       seed  mesh                                solved     ours      hidden  "
            "ours/hidden   registered  by node\n",
            arguments.num_nodes);
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool kept = true;
    for (std::uint64_t seed = 1; seed <= arguments.num_seeds; ++seed) {
        for (const Planted kind : kPlanted) {
            const Figures figures = measure(kind, seed, arguments);
            kept = kept && figures.solution.cost.total.value <= kMostAbove * figures.hidden;
            rows.push_back(json_of(figures));
            if (table) print_row(figures);
        }
    }
    if (!table) std::cout << rows.dump(2) << "\n";
    return kept;
}

}  // namespace

int run_placement(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench placement",
                          .usage = kUsage,
                          .flags = {alone("--json", a.output, Output::json),
                                    {"--nodes", number(a.num_nodes, 1, 1'000'000'000)},
                                    {"--seeds", number(a.num_seeds, 1, 1'000'000'000)},
                                    {"--budget", number(a.budget, 1, 1'000'000'000)}},
                          .check = [&]() -> Status {
                              if (a.num_nodes % 64 == 0 && a.num_nodes <= 4096) return {};
                              return invalid_argument("--nodes {}: a multiple of 64 up to 4096",
                                                      a.num_nodes);
                          }};
    return run_command(words, command, [&] { return run(a) ? 0 : 1; });
}

}  // namespace rm::bench
