#include <nlohmann/json.hpp>

#include <array>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>

#include "base/words.h"
#include "kernels/bench/arena_bench.h"
#include "kernels/bench/arguments.h"
#include "kernels/bench/balance_bench.h"
#include "kernels/bench/bench.h"
#include "kernels/bench/device_bench.h"
#include "kernels/bench/dry_run_bench.h"
#include "kernels/bench/overlap_bench.h"
#include "kernels/bench/placement_bench.h"
#include "kernels/bench/predict_bench.h"
#include "kernels/bench/tokenize_bench.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/load.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench gemm|fp8|attention|ops|step|peak [--device cpu|cuda] [--dtype f32|bf16] "
    "[--peer "
    "torch]\n"
    "                  [--threads N] [--context TOKENS] [--repeats N] [--clock wall|cpu] [--json]\n"
    "       ring-bench tokenize --tokenizer PATH --text PATH [--threads N] [--repeats N] [--json]\n"
    "       ring-bench balance [--documents lognormal|one] [--ring R] [--seeds N] [--json]\n"
    "       ring-bench arena [--only NAME] [--dump DIR]\n"
    "       ring-bench overlap [--ring R] [--repeats N] [--json]\n"
    "       ring-bench device [--threads N] [--dtype f32|bf16] [--clock wall|cpu] [--seconds N]\n"
    "                         [--out FILE] [--check]\n"
    "       ring-bench dry-run [--repeats N] [--ranks one|every]\n"
    "       ring-bench predict [--steps N] [--jobs NAME,...] [--profiles DIR] [--json FILE]\n"
    "       ring-bench placement [--nodes N] [--seeds N] [--budget N] [--json]\n"
    "Rates of a backend, medians of repeated runs, beside the machine's measured peak. "
    "Others\n"
    "take turns with us in the same run: a bare loop over oneDNN's product (gemm) and, with "
    "--peer\n"
    "torch, libtorch by way of Debian's python3-torch. Their ratio is their time over ours. On a "
    "busy\n"
    "machine measure by CPU time (--clock cpu).\n";

struct Arguments {
    std::string_view command;
    Options options;
    Output output = Output::table;
    bool with_torch = false;
};

constexpr std::array<std::string_view, 14> kCommands = {
    "gemm",    "fp8",   "attention", "ops",    "step",    "peak",    "tokenize",
    "balance", "arena", "overlap",   "device", "dry-run", "predict", "placement"};

Error unknown_command(std::string_view word) {
    const auto likely = likely_word(word, kCommands);
    return invalid_argument("'{}' is not a command{}", word,
                            likely ? format("; did you mean `ring-bench {}`?", *likely)
                                   : std::string("; gemm, attention, step and others are below"));
}

Error unknown_argument(std::string_view flag) {
    constexpr std::array<std::string_view, 8> kFlags = {"--threads", "--repeats", "--context",
                                                        "--peer",    "--device",  "--clock",
                                                        "--dtype",   "--json"};
    const auto likely = likely_word(flag, kFlags);
    return invalid_argument("unknown argument {}{}", flag,
                            likely ? format("; did you mean {}?", *likely) : std::string());
}

Status set_number(Options& options, std::string_view flag, std::string_view text) {
    if (flag != "--threads" && flag != "--repeats" && flag != "--context")
        return unknown_argument(flag);
    RM_TRY(const std::int64_t value, parse_number(flag, text, 1, 1 << 30));
    if (flag == "--threads") {
        options.num_threads = static_cast<int>(value);
    } else if (flag == "--repeats") {
        options.repeats = static_cast<int>(value);
    } else {
        options.context = value;
    }
    return {};
}

Status set_option(Arguments& arguments, std::string_view flag, std::string_view text) {
    if (flag == "--peer") {
        if (text != "torch") return invalid_argument("--peer {}: the only peer is torch", text);
        arguments.with_torch = true;
        return {};
    }
    if (flag == "--device") {
        if (text != "cpu" && text != "cuda")
            return invalid_argument("--device {}: cpu or cuda", text);
        arguments.options.on_gpu = text == "cuda";
        return {};
    }
    if (flag == "--clock") {
        if (text != "wall" && text != "cpu")
            return invalid_argument("--clock {}: wall or cpu", text);
        arguments.options.clock = text == "wall" ? Clock::wall : Clock::cpu;
        return {};
    }
    if (flag == "--dtype") {
        if (text != "f32" && text != "bf16") {
            return invalid_argument("--dtype {}: f32 or bf16", text);
        }
        arguments.options.compute = text == "f32" ? DType::f32 : DType::bf16;
        return {};
    }
    return set_number(arguments.options, flag, text);
}

bool is_command(std::string_view word) {
    return word == "gemm" || word == "attention" || word == "ops" || word == "step" ||
           word == "fp8" || word == "peak";
}

// "--flag VALUE" or "--flag=VALUE" at `i`, which moves to its last word.
Status parse_option(Arguments& arguments, std::span<char*> argv, std::size_t& i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos)
        return set_option(arguments, word.substr(0, equals), word.substr(equals + 1));
    if (i + 1 < argv.size()) return set_option(arguments, word, argv[++i]);
    const Status known = set_option(arguments, word, "1");
    const bool is_unknown = !known && known.error().message.starts_with("unknown argument");
    return is_unknown ? Status(known.error()) : Status(invalid_argument("{} needs a value", word));
}

Result<Arguments> parse(std::span<char*> argv) {
    Arguments arguments;
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string_view word = argv[i];
        if (word == "--json") {
            arguments.output = Output::json;
        } else if (arguments.command.empty() && is_command(word)) {
            arguments.command = word;
        } else if (word.starts_with("--")) {
            RM_RETURN_IF_ERROR(parse_option(arguments, argv, i));
        } else {
            return unknown_command(word);
        }
    }
    if (arguments.options.on_gpu) arguments.options.compute = DType::bf16;
    if (!arguments.options.on_gpu && arguments.command == "fp8")
        return invalid_argument("fp8 needs --device cuda");
    if (arguments.options.on_gpu && arguments.command == "peak")
        return invalid_argument("peak measures the CPU; leave out --device cuda");
    if (arguments.command.empty()) {
        return invalid_argument(
            "no command; gemm, fp8, attention, ops, step, peak, tokenize, balance, arena, "
            "overlap, device, dry-run, predict or placement");
    }
    return arguments;
}

CpuOptions cpu_options(const Options& options) {
    return {.num_threads = options.num_threads, .compute = options.compute};
}

Result<std::unique_ptr<Kernels>> make_kernels(const Options& options) {
    if (options.on_gpu) return load_cuda_kernels({.reproducible = false});
    return make_cpu_kernels(cpu_options(options));
}

Result<std::vector<Row>> measure(std::string_view command, const Options& options) {
    if (command == "peak") return std::vector<Row>();
    RM_TRY(const auto kernels, make_kernels(options));
    if (command == "gemm") return bench_gemm(*kernels, options);
    if (command == "fp8") return bench_fp8(*kernels, options);
    if (command == "step") return bench_step(*kernels, options);
    return command == "attention" ? bench_attention(*kernels, options)
                                  : bench_ops(*kernels, options);
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

int fail(const Error& error) {
    std::cerr << "ring-bench: " << error.message << "\n";
    return 1;
}

int run(std::span<char*> argv) {
    if (print_help(argv.subspan(1), kUsage)) return 0;
    auto arguments = parse(argv);
    if (!arguments) {
        std::cerr << "ring-bench: " << arguments.error().message << "\n" << kUsage;
        return 2;
    }
    Options& options = arguments->options;
    std::unique_ptr<TorchPeer> torch;
    if (arguments->with_torch) {
        auto started = TorchPeer::start(options.num_threads, options.on_gpu ? "cuda" : "cpu");
        if (!started) return fail(started.error());
        torch = std::move(started.value());
        options.torch = torch.get();
    }
    const double peak = options.on_gpu ? 0 : measure_cpu_peak_flops(cpu_options(options));
    // Beside JSON on standard output the rows are for people who wait.
    std::ostream& out = arguments->output == Output::table ? std::cout : std::cerr;
    if (peak > 0) {
        out << format("peak {:.1} GFLOP/s ({} threads, packed {} matrix product); {}\n",
                      peak * 1e-9, options.num_threads, to_string(options.compute),
                      describe_cpu_code(cpu_options(options)));
    }
    options.on_row = [&out, peak](const Row& row) { print_row(out, row, peak); };
    const auto rows = measure(arguments->command, options);
    if (!rows) return fail(rows.error());
    if (arguments->output == Output::json) print_json(*rows, peak, options);
    return 0;
}

}  // namespace
}  // namespace rm::bench

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "--version") {
        std::cout << "ring-bench " RM_VERSION "\n";
        return 0;
    }
    if (command == "tokenize") return rm::bench::run_tokenize(words.subspan(2));
    if (command == "balance") return rm::bench::run_balance(words.subspan(2));
    if (command == "arena") return rm::bench::run_arena(words.subspan(2));
    if (command == "overlap") return rm::bench::run_overlap(words.subspan(2));
    if (command == "device") return rm::bench::run_device(words.subspan(2));
    if (command == "dry-run") return rm::bench::run_dry_run(words.subspan(2));
    if (command == "predict") return rm::bench::run_predict(words.subspan(2));
    if (command == "placement") return rm::bench::run_placement(words.subspan(2));
    return rm::bench::run(words);
}
