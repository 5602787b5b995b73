// ring-arena: places the blocks of a memory trace in one arena (docs/formats/arena_trace.md).

#include <CLI/CLI.hpp>
#include <signal.h>

#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "base/words.h"
#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"
#include "engine/memory/arena_validator.h"
#include "options/checks.h"
#include "options/usage.h"
#include "options/version.h"

namespace rm {
namespace {

constexpr int kExitError = 1;
constexpr int kExitDoesNotFit = 4;
constexpr const char* kFooter =
    "\nWith --capacity any plan within it will do; without it the least peak is looked for. When "
    "the\n"
    "time is over, reading included, or at SIGINT, the best plan so far counts. The trace is\n"
    "id,lower,upper,size (docs/formats/arena_trace.md).\n"
    "Exit codes: 0 done, 1 failed, 2 wrong arguments or trace, 4 it does not fit.\n";

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
    stop_requested = true;
}

struct Arguments {
    std::string trace_path;
    std::string out_path;  // empty: none is written
    ArenaOptions options;
};

ArenaSolverKind solver_of(const std::string& word) {
    if (word == "milp") return ArenaSolverKind::milp;
    return word == "greedy" ? ArenaSolverKind::greedy : ArenaSolverKind::search;
}

void declare(CLI::App& app, Arguments& arguments) {
    ArenaOptions& options = arguments.options;
    options.num_threads = 2;
    app.add_option("TRACE", arguments.trace_path, "The memory trace, TRACE.csv")->required();
    app.add_option_function<std::int64_t>(
           "--capacity", [&options](const std::int64_t& bytes) { options.capacity = Bytes{bytes}; },
           "Bytes of the arena")
        ->type_name("BYTES")
        ->check(whole_number(0, kMaxArenaTotal.value));
    app.add_option_function<std::string>(
           "--solver", [&options](const std::string& word) { options.solver = solver_of(word); },
           "Solver [search]")
        ->type_name("search|milp|greedy")
        ->check(one_of({"search", "milp", "greedy"}));
    app.add_option("--timeout", options.timeout.value, "Give up after this many seconds [60]")
        ->type_name("S")
        ->check(number(0, 1e6));
    app.add_option("--threads", options.num_threads, "Threads [2]")
        ->type_name("N")
        ->check(whole_number(1, 64));
    app.add_option("-o,--output", arguments.out_path, "Write the plan there")->type_name("OUT.csv");
}

Result<NamedTrace> read_trace(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) {
        return make_error(ErrorCode::not_found, "{}: cannot be read, or is empty", path);
    }
    return parse_arena_csv(path, text.str());
}

// Says whether the plan may be used.
bool report(const Arguments& arguments, const NamedTrace& named, const ArenaResult& result,
            Seconds took) {
    std::cout << format("{}: {} in {} of time\n", arguments.trace_path,
                        counted(named.ids.size(), "block"), counted(result.num_parts, "part"))
              << format("peak {}, lower bound {}, {}, {}\n", result.plan.peak.value,
                        result.lower_bound.value,
                        result.proved_least() ? "proved least" : "not proved least", took);
    const std::optional<Bytes> capacity = arguments.options.capacity;
    if (!capacity) return true;
    if (result.fits(*capacity)) {
        std::cout << format("fits in {}\n", capacity->value);
        return true;
    }
    std::cerr << format("does not fit in {}: {}\n", capacity->value,
                        result.bound > *capacity
                            ? format("no plan has a peak below {}", result.bound.value)
                            : std::string("no plan was found in time, and none was ruled out"));
    return false;
}

Status write_plan(const std::string& path, const NamedTrace& named, const ArenaResult& result,
                  std::optional<Bytes> capacity) {
    RM_RETURN_IF_ERROR(validate_arena(named.trace, result.plan, capacity));
    std::ofstream file(path, std::ios::binary);
    file << write_arena_csv(named, result.plan) << std::flush;
    if (!file) return make_error(ErrorCode::unavailable, "{}: cannot be written", path);
    return {};
}

int fail(const Error& error, int code) {
    std::cerr << "ring-arena: " << error.message << '\n';
    return code;
}

int run(const Arguments& arguments) {
    signal(SIGINT, request_stop);
    signal(SIGTERM, request_stop);
    const SystemClock clock;
    const MonoTime started = clock.mono();
    const auto named = read_trace(arguments.trace_path);
    if (!named) return fail(named.error(), kExitUsage);
    // Checking and writing a plan takes about twice as long as reading a trace.
    const double read = (clock.mono() - started).value;
    ArenaOptions options = arguments.options;
    options.timeout = Seconds{std::max(0.0, options.timeout.value - 3 * read)};
    const auto result = plan_arena(named->trace, options, clock, &stop_requested);
    if (!result) return fail(result.error(), kExitError);
    if (!report(arguments, *named, *result, clock.mono() - started)) return kExitDoesNotFit;
    if (arguments.out_path.empty()) return 0;
    const Status written =
        write_plan(arguments.out_path, *named, *result, arguments.options.capacity);
    return written ? 0 : fail(written.error(), kExitError);
}

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    CLI::App app("Gives every block of a memory trace an offset in one arena", "ring-arena");
    app.set_version_flag("--version", std::string("ring-arena ") + rm::version());
    app.footer(rm::kFooter);
    rm::Arguments arguments;
    rm::declare(app, arguments);
    return rm::run_program(app, argc, argv, [&] { return rm::run(arguments); });
}
