#include <iostream>
#include <span>
#include <string_view>

#include "kernels/bench/bench.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench gemm|attention|peak [--threads N] [--context TOKENS] [--repeats N] "
    "[--json]\n"
    "Rates of the CPU backend, medians of repeated runs, beside the machine's measured peak.\n";

enum class Output { table, json };

struct Arguments {
    std::string_view command;
    Options options;
    CpuOptions cpu;
    Output output = Output::table;
};

Result<std::int64_t> positive(std::string_view flag, std::string_view text) {
    RM_TRY(const std::int64_t value, parse_count(text, Suffix::binary));
    if (value < 1) return invalid_argument("{} {}: it must be 1 or more", flag, text);
    return value;
}

Status set_number(Arguments& arguments, std::string_view flag, std::string_view text) {
    RM_TRY(const std::int64_t value, positive(flag, text));
    if (flag == "--threads") {
        arguments.cpu.num_threads = static_cast<int>(value);
    } else if (flag == "--repeats") {
        arguments.options.repeats = static_cast<int>(value);
    } else {
        arguments.options.context = value;
    }
    return {};
}

Result<Arguments> parse(std::span<char*> argv) {
    Arguments arguments;
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string_view word = argv[i];
        if (word == "--json") {
            arguments.output = Output::json;
        } else if (word == "--threads" || word == "--context" || word == "--repeats") {
            if (i + 1 == argv.size()) return invalid_argument("{} needs a number", word);
            RM_RETURN_IF_ERROR(set_number(arguments, word, argv[++i]));
        } else if (arguments.command.empty() &&
                   (word == "gemm" || word == "attention" || word == "peak")) {
            arguments.command = word;
        } else {
            return invalid_argument("unknown argument {}", word);
        }
    }
    if (arguments.command.empty()) return invalid_argument("no command; gemm, attention or peak");
    return arguments;
}

std::vector<Row> measure(const Arguments& arguments) {
    if (arguments.command == "peak") return {};
    const auto kernels = make_cpu_kernels(arguments.cpu);
    return arguments.command == "gemm" ? bench_gemm(*kernels, arguments.options)
                                       : bench_attention(*kernels, arguments.options);
}

void print_table(std::span<const Row> rows, double peak, int num_threads) {
    std::cout << format("peak {:.1} GFLOP/s ({} threads, packed f32 matrix product)\n", peak * 1e-9,
                        num_threads);
    for (const Row& row : rows) {
        std::cout << format("{:<44} {:8.1} GFLOP/s {:10.3} ms {:6.1} %\n", row.name,
                            row.flops_per_second() * 1e-9, row.seconds * 1e3,
                            100 * row.flops_per_second() / peak);
    }
}

void print_json(std::span<const Row> rows, double peak, int num_threads) {
    std::cout << format("{{\"threads\": {}, \"peak_flops_per_second\": {:.0}, \"rows\": [",
                        num_threads, peak);
    const char* separator = "\n";
    for (const Row& row : rows) {
        std::cout << separator
                  << format(
                         "  {{\"name\": \"{}\", \"flops_per_second\": {:.0}, \"seconds\": {:.9}}",
                         row.name, row.flops_per_second(), row.seconds);
        separator = ",\n";
    }
    std::cout << "]}\n";
}

int run(std::span<char*> argv) {
    const auto arguments = parse(argv);
    if (!arguments) {
        std::cerr << "ring-bench: " << arguments.error().message << "\n" << kUsage;
        return 2;
    }
    const double peak = measure_cpu_peak_flops(arguments->cpu);
    const std::vector<Row> rows = measure(*arguments);
    const auto print = arguments->output == Output::json ? print_json : print_table;
    print(rows, peak, arguments->cpu.num_threads);
    return 0;
}

}  // namespace
}  // namespace rm::bench

int main(int argc, char** argv) {
    return rm::bench::run({argv, static_cast<std::size_t>(argc)});
}
