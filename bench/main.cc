#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>

#include "base/words.h"
#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/device_library.h"
#include "options/version.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench gemm|fp8|attention|ops|step|peak [--device cpu|cuda] [--dtype f32|bf16]\n"
    "                  [--peer torch] [--threads N] [--context TOKENS] [--repeats N]\n"
    "                  [--clock wall|cpu] [--json]\n"
    "       ring-bench tokenize --tokenizer PATH --text PATH [--threads N] [--repeats N] [--json]\n"
    "       ring-bench attention8 [--head-dim D] [--queries N] [--threads N]\n"
    "       ring-bench balance [--documents lognormal|one] [--ring R] [--seeds N] [--json]\n"
    "       ring-bench arena [--only NAME] [--dump DIR] [--hard] [--seeds N]\n"
    "       ring-bench overlap [--ring R] [--repeats N] [--windows] [--json]\n"
    "       ring-bench device [--device cpu|cuda[:N]|emu[:N]] [--busy N] [--threads N]\n"
    "                         [--dtype f32|bf16] [--clock wall|cpu] [--seconds N] [--out FILE] "
    "[--check]\n"
    "       ring-bench dry-run [--repeats N] [--ranks one|every]\n"
    "       ring-bench predict [--steps N] [--jobs NAME,...] [--profiles DIR] [--json FILE]\n"
    "       ring-bench plan [--devices N] [--tokens N] [--plans N]\n"
    "       ring-bench placement [--nodes N] [--seeds N] [--budget N] [--json]\n"
    "       ring-bench published\n"
    "       ring-bench fits\n"
    "Rates of a backend, medians of repeated runs, beside the machine's measured peak. Others "
    "take\n"
    "turns with us in the same run: a bare loop over oneDNN's product (gemm) and, with --peer "
    "torch,\n"
    "libtorch by way of Debian's python3-torch. Their ratio is their time over ours. On a busy\n"
    "machine measure by CPU time (--clock cpu).\n";

// Measures ops of a backend; null: only the peak is measured.
struct RateCommand {
    std::string_view name;
    void (*measure)(Kernels& kernels, const Options& options);
};
constexpr RateCommand kRates[] = {{"gemm", bench_gemm},           {"fp8", bench_fp8},
                                  {"attention", bench_attention}, {"ops", bench_ops},
                                  {"step", bench_step},           {"peak", nullptr}};
struct OwnCommand {
    std::string_view name;
    int (*run)(std::span<char*> words);
};
constexpr OwnCommand kOthers[] = {{"tokenize", run_tokenize},   {"attention8", run_attention8},
                                  {"balance", run_balance},     {"arena", run_arena},
                                  {"overlap", run_overlap},     {"device", run_device},
                                  {"dry-run", run_dry_run},     {"predict", run_predict},
                                  {"placement", run_placement}, {"published", run_published},
                                  {"fits", run_fits},           {"plan", run_plan}};

std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const RateCommand& command : kRates)
        names.push_back(command.name);
    for (const OwnCommand& command : kOthers)
        names.push_back(command.name);
    return names;
}

struct Arguments {
    const RateCommand* command = nullptr;
    Options options;
    Output output = Output::table;
    bool with_torch = false;
};

Status set_command(Arguments& arguments, std::string_view word) {
    if (arguments.command != nullptr) return not_expected(word);
    for (const RateCommand& command : kRates) {
        if (command.name == word) arguments.command = &command;
    }
    if (arguments.command != nullptr) return {};
    const auto likely = likely_word(word, names());
    return invalid_argument("'{}' is not a command{}", word,
                            likely ? format("; did you mean `ring-bench {}`?", *likely)
                                   : std::string("; gemm, attention, step and others are below"));
}

Status check(Arguments& arguments) {
    const std::string_view command = arguments.command ? arguments.command->name : "";
    if (arguments.options.on_gpu) arguments.options.compute = DType::bf16;
    if (arguments.options.on_gpu && command == "peak")
        return invalid_argument("peak measures the CPU; leave out --device cuda");
    if (!command.empty()) return {};
    std::string known;
    for (const std::string_view name : names()) {
        known += known.empty() ? "" : name == names().back() ? " or " : ", ";
        known += name;
    }
    return invalid_argument("no command; {}", known);
}

CpuOptions cpu_options(const Options& options) {
    return {.num_threads = options.num_threads, .compute = options.compute};
}

Result<std::unique_ptr<Kernels>> make_kernels(const Options& options) {
    if (options.on_gpu) return load_device_kernels(DeviceLibrary::cuda, {.reproducible = false});
    return make_cpu_kernels(cpu_options(options));
}

void print_row(std::ostream& out, const Row& row, double peak) {
    out << format("{:<38} {:9.3} ms", row.name, row.seconds * 1e3);
    if (row.flops > 0) {
        out << format(" {:7.1} GFLOP/s", row.flops / row.seconds * 1e-9);
        if (peak > 0) out << format(" {:5.1} %", 100 * row.flops / row.seconds / peak);
    } else {
        out << format(" {:7.1} GB/s          ", row.bytes / row.seconds * 1e-9);
    }
    if (row.tokens > 0) out << format("   {:.0} tok/s in {}", row.tokens / row.seconds, row.memory);
    for (const Comparison& other : row.comparisons) {
        out << format("   {} {:9.3} ms ratio {:5.2}", other.name, other.seconds * 1e3, other.ratio);
        if (row.tokens > 0) out << format(" in {}", other.memory);
    }
    out << std::endl;
}

void print_json(std::span<const Row> rows, double peak, const Options& options) {
    nlohmann::json json{{"threads", options.num_threads},
                        {"device", options.on_gpu ? "cuda" : "cpu"},
                        {"dtype", to_string(options.compute)},
                        {"rows", nlohmann::json::array()}};
    if (peak > 0) json["peak_flops_per_second"] = peak;
    if (!options.on_gpu) json["code"] = describe_cpu_code(cpu_options(options));
    for (const Row& row : rows) {
        nlohmann::json one{{"name", row.name}, {"seconds", row.seconds}};
        if (row.flops > 0) one["flops_per_second"] = row.flops / row.seconds;
        if (row.bytes > 0) one["bytes_per_second"] = row.bytes / row.seconds;
        if (row.tokens > 0) {
            one["tokens_per_second"] = row.tokens / row.seconds;
            one["peak_memory_bytes"] = row.memory.value;
        }
        for (const Comparison& other : row.comparisons) {
            one[other.name] = {{"seconds", other.seconds}, {"ratio", other.ratio}};
            if (row.tokens > 0) one[other.name]["peak_memory_bytes"] = other.memory.value;
        }
        json["rows"].push_back(one);
    }
    std::cout << json.dump(2) << "\n";
}

Result<int> measure(const Arguments& arguments) {
    Options options = arguments.options;
    std::unique_ptr<TorchPeer> torch;
    if (arguments.with_torch) {
        RM_TRY(torch, TorchPeer::start(options.num_threads, options.on_gpu ? "cuda" : "cpu"));
        options.torch = torch.get();
    }
    const double peak = options.on_gpu ? 0 : measure_cpu_peak_flops(cpu_options(options));
    // Beside JSON on standard output the rows are for people who wait.
    std::ostream& out = arguments.output == Output::table ? std::cout : std::cerr;
    if (peak > 0) {
        out << format("peak {:.1} GFLOP/s ({} threads, packed {} matrix product); {}\n",
                      peak * 1e-9, options.num_threads, to_string(options.compute),
                      describe_cpu_code(cpu_options(options)));
    }
    std::vector<Row> rows;
    options.on_row = [&](const Row& row) {
        print_row(out, row, peak);
        rows.push_back(row);
    };
    if (arguments.command->measure != nullptr) {
        RM_TRY(const auto kernels, make_kernels(options));
        arguments.command->measure(*kernels, options);
    }
    if (arguments.output == Output::json) print_json(rows, peak, options);
    return 0;
}

int run_rates(std::span<char*> words) {
    Arguments a;
    const Setter set_peer = [&](std::string_view, std::string_view text) -> Status {
        if (text != "torch") return invalid_argument("--peer {}: the only peer is torch", text);
        a.with_torch = true;
        return {};
    };
    const Command command{
        .program = "ring-bench",
        .usage = kUsage,
        .flags = {{"--threads", number(a.options.num_threads, 1, 1 << 30)},
                  {"--repeats", number(a.options.repeats, 1, 1 << 30)},
                  {"--context", number(a.options.context, 1, 1 << 30)},
                  {"--peer", set_peer},
                  {"--device", one_of(a.options.on_gpu, {{"cpu", false}, {"cuda", true}})},
                  clock_flag(a.options),
                  dtype_flag(a.options),
                  alone("--json", a.output, Output::json)},
        .word = [&](std::string_view word) { return set_command(a, word); },
        .check = [&] { return check(a); }};
    return run_command(words, command, [&] { return measure(a); });
}

}  // namespace
}  // namespace rm::bench

int main(int argc, char** argv) {
    const std::span<char*> words(argv + 1, rm::usize(std::max(argc, 1) - 1));
    const std::string_view first = words.empty() ? "" : words.front();
    if (first == "--version") {
        std::cout << "ring-bench " << rm::version() << "\n";
        return 0;
    }
    for (const auto& command : rm::bench::kOthers) {
        if (command.name == first) return command.run(words.subspan(1));
    }
    return rm::bench::run_rates(words);
}
