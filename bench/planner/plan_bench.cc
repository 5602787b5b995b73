#include <iostream>
#include <string_view>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "planner/search/published_fleet.h"
#include "planner/search/search.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench plan [--devices N] [--tokens N] [--plans N]\n"
    "Plans llama3-8b in bf16, one sequence a step, on published L40S: the processor seconds of "
    "the\n"
    "search on one thread, how many ways to share the work there are, of how many the memory was\n"
    "searched, how many predictions that took, and the fastest plan.\n"
    "--devices, --tokens: these alone, in place of a table. --plans: how many to rank (5).\n";

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kTokens[] = {64 * kKi, 256 * kKi, kKi* kKi, 2 * kKi* kKi, 4 * kKi* kKi};
constexpr int kDevices[] = {8, 32, 64, 512};

struct Arguments {
    int devices = 0;          // 0: all of the table
    std::int64_t tokens = 0;  // likewise
    int plans = 5;
};

JobSpec job_of(std::int64_t tokens) {
    JobSpec spec;
    spec.name = "planned";
    spec.model.preset = "llama3-8b";
    spec.data.sources = {{"/data", 0}};
    spec.precision = "bf16";
    spec.stages = {{.context = tokens, .batch = tokens, .tokens = 100 * tokens}};
    return spec;
}

Status print_row(int devices, std::int64_t tokens, int plans) {
    const JobSpec spec = job_of(tokens);
    RM_TRY(const ModelConfig model, planned_model(spec));
    RM_TRY(const FleetSpec fleet, published_fleet("L40S", devices));
    const double begin = thread_seconds();
    RM_TRY(const SearchResult found,
           search_plans({spec, model, fleet, devices}, {.ranked = plans}));
    const double seconds = thread_seconds() - begin;
    std::cout << format("{:>7} {:>6}Ki {:8.2} s {:>9} {:>8} {:>11}", devices, tokens / kKi, seconds,
                        found.shardings, found.searched, found.predictions);
    if (found.ranked.empty()) {
        std::cout << "  none fits\n" << std::flush;
        return {};
    }
    const RankedPlan& plan = found.ranked.front();
    std::cout << format("  {}: {:.3} s, {}\n", to_string(plan.sharding), plan.prediction.step.value,
                        to_string(plan.memory))
              << std::flush;
    return {};
}

Status print_table(const Arguments& arguments) {
    std::cout << "devices   tokens     search shardings searched predictions  plan\n";
    for (const int devices : kDevices) {
        if (arguments.devices > 0 && devices != kDevices[0]) break;
        for (const std::int64_t tokens : kTokens) {
            if (arguments.tokens > 0 && tokens != kTokens[0]) break;
            RM_RETURN_IF_ERROR(print_row(arguments.devices > 0 ? arguments.devices : devices,
                                         arguments.tokens > 0 ? arguments.tokens : tokens,
                                         arguments.plans));
        }
    }
    return {};
}

}  // namespace

int run_plan(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench plan",
                          .usage = kUsage,
                          .flags = {{"--devices", number(a.devices, 1, 1 << 20)},
                                    {"--tokens", number(a.tokens, 1, std::int64_t{1} << 40)},
                                    {"--plans", number(a.plans, 1, 1000)}}};
    return run_command(words, command, [&]() -> Result<int> {
        RM_RETURN_IF_ERROR(print_table(a));
        return 0;
    });
}

}  // namespace rm::bench
