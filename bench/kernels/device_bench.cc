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
#include "engine/train/rank_device.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench device [--device cpu|cuda[:N]|emu[:N]] [--busy N] [--threads N]\n"
    "                         [--dtype f32|bf16] [--clock wall|cpu] [--seconds N]\n"
    "                         [--out FILE] [--check]\n"
    "Measures how long each op takes on this machine's CPU or on a GPU, for the planner's dry "
    "run.\n"
    "With --busy N it measures a GPU's copies also while the first N other GPUs copy. On a busy\n"
    "machine measure the CPU by its time (--clock cpu); a GPU must be free.\n";

enum class Check { no, yes };

struct Arguments {
    Options options;  // threads, type and clock of the CPU
    RankDevice device;
    int num_busy = 0;
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

std::string provenance(const Arguments& arguments, const DeviceFacts& facts) {
    const Options& options = arguments.options;
    const auto seconds = static_cast<std::int64_t>(arguments.budget.value);
    if (arguments.device.is_cpu()) {
        return measured_by(
            format("ring-bench device --threads {} --dtype {} --clock {} "
                   "--seconds {}",
                   options.num_threads, to_string(options.compute),
                   options.clock == Clock::wall ? "wall" : "cpu", seconds));
    }
    return format("measured: ring-bench device --device {} --busy {} --seconds {}, {}, {}, {}",
                  to_string(arguments.device), arguments.num_busy, seconds, facts.product,
                  facts.driver.empty() ? "no driver" : "driver of " + facts.driver, today());
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

void print_rates(std::string_view name, const TransferRates& rates) {
    if (rates == TransferRates{}) return;
    std::cout << format("{:<24} up {:.2f} GB/s  down {:.2f} GB/s\n", name, rates.upload * 1e-9,
                        rates.download * 1e-9);
}

void print_memory(const DeviceProfile& profile) {
    if (profile.memory.value == 0) return;
    print_rates("copies both ways", profile.transfers.both_ways);
    const std::string busy = format(", {} others busy", profile.transfers.busy_devices);
    print_rates("copies" + busy, profile.transfers.busy);
    print_rates("both ways" + busy, profile.transfers.busy_both_ways);
    std::cout << format("{} of memory, {} of it held by the driver and libraries\n", profile.memory,
                        profile.held);
}

Result<std::unique_ptr<Kernels>> make_kernels(const Arguments& arguments, int index) {
    if (!arguments.device.is_cpu())
        return load_device_kernels(*arguments.device.library, {.device = index});
    return make_cpu_kernels(
        {.num_threads = arguments.options.num_threads, .compute = arguments.options.compute});
}

// The first GPUs other than the measured one.
Result<std::vector<std::unique_ptr<Kernels>>> make_busy(const Arguments& arguments) {
    std::vector<std::unique_ptr<Kernels>> busy;
    for (int index = 0; std::ssize(busy) < arguments.num_busy; ++index) {
        if (index == arguments.device.index) continue;
        RM_TRY(busy.emplace_back(), make_kernels(arguments, index));
    }
    return busy;
}

Status measure(const Arguments& arguments) {
    const Options& options = arguments.options;
    RM_TRY(const auto kernels, make_kernels(arguments, arguments.device.index));
    Options of_one_thread = options;
    of_one_thread.num_threads = 1;
    MeasureOptions how{.budget = arguments.budget,
                       .now = [&] { return now(options); },
                       .transfer_now = [&] { return now(of_one_thread); }};
    RM_TRY(const auto busy, make_busy(arguments));
    for (const auto& other : busy)
        how.busy.push_back(&other->device());
    DeviceProfile profile = measure_profile(*kernels, how);
    profile.provenance = provenance(arguments, kernels->device().facts());
    print(profile);
    print_memory(profile);
    if (!arguments.out.empty()) RM_RETURN_IF_ERROR(write_device_profile(arguments.out, profile));
    if (arguments.check == Check::no) return {};
    how.budget.value /= 2;
    print_check(measure_check(*kernels, profile, how));
    return {};
}

Setter device(RankDevice& to) {
    return [&to](std::string_view flag, std::string_view text) -> Status {
        const auto device = parse_rank_device(text);
        if (!device) return within(flag, device.error());
        to = *device;
        return {};
    };
}

// A GPU computes in bf16 by wall time, and the CPU has no others to be busy.
Status check_agreement(const Arguments& a) {
    if (a.device.is_cpu() && a.num_busy > 0)
        return invalid_argument("--busy {}: is of GPUs; give --device cuda too", a.num_busy);
    if (a.device.is_cpu() || a.options.clock == Clock::wall) return {};
    return invalid_argument("--clock cpu: a GPU does not count the processor's time; use wall");
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
                                    {"--device", device(a.device)},
                                    {"--busy", number(a.num_busy, 1, 1024)},
                                    {"--out", text(a.out)},
                                    {"--threads", number(a.options.num_threads, 1, 1024)},
                                    {"--seconds", number(a.budget.value, 1, 1024)},
                                    dtype_flag(a.options),
                                    clock_flag(a.options)},
                          .check = [&] { return check_agreement(a); }};
    return run_command(words, command, [&]() -> Result<int> {
        RM_RETURN_IF_ERROR(measure(a));
        return 0;
    });
}

}  // namespace rm::bench
