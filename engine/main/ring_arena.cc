// ring-arena: places the blocks of a memory trace in one arena (docs/formats/arena_trace.md).

#include <signal.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "engine/memory/arena_csv.h"
#include "engine/memory/arena_planner.h"
#include "engine/memory/arena_validator.h"

namespace rm {
namespace {

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDoesNotFit = 4;
constexpr std::string_view kUsage =
    "usage: ring-arena TRACE.csv [--capacity BYTES] [--solver search|milp|greedy]\n"
    "                  [--timeout SECONDS] [--threads N] [-o OUT.csv]\n"
    "  Gives every block of TRACE.csv (id,lower,upper,size; docs/formats/arena_trace.md) an "
    "offset\n"
    "  and writes them to OUT.csv. With --capacity any plan within it will do, without it the\n"
    "  least peak is looked for. After SECONDS (60), or at SIGINT, the best so far counts.\n"
    "  Exit codes: 0 done, 1 failed, 2 wrong arguments or trace, 4 it does not fit.\n";

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
    stop_requested = true;
}

struct Arguments {
    std::string trace_path;
    std::string out_path;  // empty: none is written
    ArenaOptions options;
};

Result<ArenaSolverKind> parse_solver(std::string_view word) {
    if (word == "search") return ArenaSolverKind::search;
    if (word == "milp") return ArenaSolverKind::milp;
    if (word == "greedy") return ArenaSolverKind::greedy;
    return invalid_argument("--solver '{}' is not known; search, milp or greedy", word);
}

template <typename T>
Result<T> parse_number(std::string_view option, std::string_view word, T least, T most) {
    T value{};
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = parsed.ec == std::errc{} && parsed.ptr == word.data() + word.size();
    if (whole && value >= least && value <= most) return value;
    return invalid_argument("{} '{}' is not a number from {} to {}", option, word, least, most);
}

Status set_option(Arguments& arguments, std::string_view option, std::string_view word) {
    ArenaOptions& options = arguments.options;
    if (option == "--capacity") {
        RM_TRY(const auto bytes, parse_number(option, word, std::int64_t{0}, kMaxArenaTotal.value));
        options.capacity = Bytes{bytes};
    } else if (option == "--solver") {
        RM_TRY(options.solver, parse_solver(word));
    } else if (option == "--timeout") {
        RM_TRY(options.timeout.value, parse_number(option, word, 0.0, 1e6));
    } else if (option == "--threads") {
        RM_TRY(options.num_threads, parse_number(option, word, 1, 64));
    } else if (option == "-o") {
        arguments.out_path = word;
    } else {
        return invalid_argument("'{}' is not expected\n{}", option, kUsage);
    }
    return {};
}

Result<Arguments> parse_arguments(std::span<char*> words) {
    Arguments arguments;
    arguments.options.num_threads = 2;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with('-')) {
            if (!arguments.trace_path.empty()) {
                return invalid_argument("'{}' is a second trace\n{}", word, kUsage);
            }
            arguments.trace_path = word;
        } else if (i + 1 == words.size()) {
            return invalid_argument("'{}' is not expected at the end\n{}", word, kUsage);
        } else {
            RM_RETURN_IF_ERROR(set_option(arguments, word, words[++i]));
        }
    }
    if (arguments.trace_path.empty()) return invalid_argument("no trace given\n{}", kUsage);
    return arguments;
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
    std::cout << format("{}: {} blocks in {} parts of time\n", arguments.trace_path,
                        named.ids.size(), result.num_parts)
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
    std::cerr << error.message << '\n';
    return code;
}

int run(const Arguments& arguments) {
    const auto named = read_trace(arguments.trace_path);
    if (!named) return fail(named.error(), kExitUsage);
    const SystemClock clock;
    const MonoTime started = clock.mono();
    const auto result = plan_arena(named->trace, arguments.options, clock, &stop_requested);
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
    const auto arguments =
        rm::parse_arguments({argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))});
    if (!arguments) return rm::fail(arguments.error(), rm::kExitUsage);
    signal(SIGINT, rm::request_stop);
    signal(SIGTERM, rm::request_stop);
    try {
        return rm::run(*arguments);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return rm::kExitError;
    }
}
