#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "engine/schedule/device_profile_json.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench device [--threads N] [--dtype f32|bf16] [--clock wall|cpu] "
    "[--seconds N]\n"
    "                         [--out FILE] [--check]\n"
    "Measures how long each op takes on this machine's CPU, for the planner's dry run. On a busy\n"
    "machine measure by CPU time (--clock cpu).\n";

enum class Check { no, yes };

struct Arguments {
    Options options;  // threads, type and clock
    Seconds budget{25};
    std::string out;  // empty: nowhere
    Check check = Check::no;
};

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "a processor of unknown name";
}

std::string today() {
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&time, &utc);
    return format("{}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

std::string provenance(const Arguments& arguments) {
    const Options& options = arguments.options;
    return measured_by(format("ring-bench device --threads {} --dtype {} --clock {} --seconds {}",
                              options.num_threads, to_string(options.compute),
                              options.clock == Clock::wall ? "wall" : "cpu",
                              static_cast<std::int64_t>(arguments.budget.value)));
}

bool counts_flops(const OpSpeed& speed) {
    return speed.op.starts_with("linear_") || speed.op.starts_with("head_") || speed.head_dim != 0;
}

void print(const DeviceProfile& profile) {
    std::cout << profile.provenance << "\n";
    for (const OpSpeed& speed : profile.ops) {
        const std::string name =
            speed.head_dim == 0 ? speed.op : format("{} D {}", speed.op, speed.head_dim);
        std::cout << format("{:<24} {:8.1} us  {} at", name, speed.overhead.value * 1e6,
                            counts_flops(speed) ? "GFLOP/s" : "   GB/s");
        for (const SpeedPoint& point : speed.points)
            std::cout << format("  {:.3}: {:.1}", point.size / (point.size < 1e5 ? 1 : 1e6),
                                point.per_sec * 1e-9);
        std::cout << "\n";
    }
}

void print_check(std::vector<CheckedSample> samples) {
    std::vector<double> errors;
    for (const CheckedSample& sample : samples) {
        std::cout << format("{:<24} {:<32} measured {:9.1} us  predicted {:9.1} us  ratio {:5.2}\n",
                            sample.op, sample.shape, sample.measured.value * 1e6,
                            sample.predicted.value * 1e6, 1 + sample.error());
        errors.push_back(std::abs(sample.error()));
    }
    const auto within =
        std::count_if(errors.begin(), errors.end(), [](double error) { return error <= 0.15; });
    std::cout << format("{} of {} shapes within 15 %, the median is off by {:.1} %\n", within,
                        errors.size(), 100 * median(errors));
}

Status measure(const Arguments& arguments) {
    const Options& options = arguments.options;
    const auto kernels =
        make_cpu_kernels({.num_threads = options.num_threads, .compute = options.compute});
    Options of_one_thread = options;
    of_one_thread.num_threads = 1;
    MeasureOptions how{.budget = arguments.budget,
                       .now = [&] { return now(options); },
                       .transfer_now = [&] { return now(of_one_thread); }};
    DeviceProfile profile = measure_profile(*kernels, how);
    profile.provenance = provenance(arguments);
    print(profile);
    if (!arguments.out.empty()) RM_RETURN_IF_ERROR(write_device_profile(arguments.out, profile));
    if (arguments.check == Check::no) return {};
    how.budget.value /= 2;
    print_check(measure_check(*kernels, profile, how));
    return {};
}

}  // namespace

std::string measured_by(std::string_view command) {
    return format("measured: {}, {}, {}", command, processor(), today());
}

int run_device(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench device",
                          .usage = kUsage,
                          .flags = {alone("--check", a.check, Check::yes),
                                    {"--out", text(a.out)},
                                    {"--threads", number(a.options.num_threads, 1, 1024)},
                                    {"--seconds", number(a.budget.value, 1, 1024)},
                                    dtype_flag(a.options),
                                    clock_flag(a.options)}};
    return run_command(words, command, [&]() -> Result<int> {
        RM_RETURN_IF_ERROR(measure(a));
        return 0;
    });
}

}  // namespace rm::bench
