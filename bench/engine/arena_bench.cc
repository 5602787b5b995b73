#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "base/clock.h"
#include "bench/arguments.h"
#include "bench/commands.h"
#include "bench/engine/engine_traces.h"
#include "bench/engine/hard_arena_bench.h"
#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench arena [--only NAME] [--dump DIR]\n"
    "       ring-bench arena --hard [--seeds N] [--capacity BYTES] [--moments N]\n"
    "Plans every memory trace of the engine. --only: those whose name begins with NAME. --dump:\n"
    "writes each to DIR/NAME.csv as well, for ring-arena.\n"
    "--hard: plans traces of 150 to 500 blocks instead, cut out of a full arena, from the seeds 1\n"
    "to N (200), on one thread; CPU time. Exit code 1 if one is not placed in its arena within a\n"
    "minute.\n";

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of a hard trace's bytes and moments

struct Arguments {
    std::string only;
    std::string dump;  // empty: nowhere
    HardArguments hard;
};

Status dump(const std::string& dir, const EngineTrace& trace) {
    NamedTrace named{{}, trace.pass.trace};
    for (std::size_t i = 0; i < trace.pass.requests.size(); ++i) {
        const ArenaRequest& request = trace.pass.requests[i];
        named.ids.push_back(format("{} {}", i, to_string(BufferName{request.what, request.layer})));
    }
    std::filesystem::create_directories(dir);
    const std::string path = dir + "/" + trace.name + ".csv";
    std::ofstream file(path);
    file << write_arena_csv(named) << std::flush;
    if (!file) return make_error(ErrorCode::unavailable, "{}: cannot be written", path);
    return {};
}

// Says whether the plan is proved least.
Result<bool> plan(const EngineTrace& trace) {
    const SystemClock clock;
    const MonoTime started = clock.mono();
    RM_TRY(const ArenaResult result, plan_arena(trace.pass.trace, {.timeout = Seconds{10}}, clock));
    const Seconds took = clock.mono() - started;
    const double ratio = result.lower_bound.value > 0
                             ? static_cast<double>(result.plan.peak.value) /
                                   static_cast<double>(result.lower_bound.value)
                             : 1;
    std::cout << format("{:<38} {:6} blocks  peak {:14}  / bound {:.4}  {}  {:8.2} ms\n",
                        trace.name, trace.pass.requests.size(), result.plan.peak.value, ratio,
                        result.proved_least() ? "proved least" : "not proved  ", took.value * 1e3);
    return result.proved_least();
}

// Says whether all its plans are proved least.
Result<bool> plan_case(const EngineCase& c, const std::string& dump_dir) {
    const SystemClock clock;
    const MonoTime started = clock.mono();
    const std::vector<EngineTrace> traces = engine_traces(c);
    std::cout << format("{:<38} recorded in {:.2} ms\n", c.name,
                        (clock.mono() - started).value * 1e3);
    bool proved = true;
    for (const EngineTrace& trace : traces) {
        if (!dump_dir.empty()) RM_RETURN_IF_ERROR(dump(dump_dir, trace));
        RM_TRY(const bool least, plan(trace));
        proved = proved && least;
    }
    return proved;
}

}  // namespace

int run_arena(std::span<char*> words) {
    Arguments a;
    const Command command{
        .program = "ring-bench arena",
        .usage = kUsage,
        .flags = {{"--only", text(a.only)},
                  {"--dump", text(a.dump)},
                  alone("--hard", a.hard.chosen, true),
                  {"--seeds", number(a.hard.num_seeds, 1, 1'000'000)},
                  {"--capacity", number(a.hard.arena.capacity.value, 1024, kMost)},
                  {"--moments", number(a.hard.arena.moments, 1024, kMost)}}};
    return run_command(words, command, [&]() -> Result<int> {
        if (a.hard.chosen) {
            RM_TRY(const bool all_solved, plan_hard_traces(a.hard));
            return all_solved ? 0 : 1;
        }
        bool proved = true;
        for (const EngineCase& c : engine_cases()) {
            if (!c.name.starts_with(a.only)) continue;
            RM_TRY(const bool least, plan_case(c, a.dump));
            proved = proved && least;
        }
        return proved ? 0 : 1;
    });
}

}  // namespace rm::bench
