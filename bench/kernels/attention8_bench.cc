#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/arguments.h"
#include "bench/commands.h"
#include "bench/kernels/attention8_cpu.h"
#include "bench/kernels/attention8_exact.h"
#include "kernels/bf16.h"
#include "kernels/cpu/cpu_kernels.h"

// How far attention in 8 bits and attention in bf16 are from attention in fp64.
namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench attention8 [--head-dim D] [--queries N] [--threads N]\n"
    "Errors of attention forward against fp64 on the same bf16 numbers, for several distributions "
    "of\n"
    "queries, keys and values: of the CPU backend in bf16 and in 8 bits, and of other roundings "
    "to\n"
    "8 bits, computed in fp64. The last N queries of each context are looked at. Then gradients\n"
    "behind attention in 8 bits against those of attention in bf16.\n";

struct Arguments {
    std::int64_t head_dim = 128, queries = 256;
    int num_threads = 1;
};

// The number of query, key or value `token`, channel d, from a normal one.
using Numbers = std::function<double(double normal, std::int64_t token, std::int64_t d)>;
struct Distribution {
    std::string name;
    std::int64_t context = 1024;
    Numbers q, k, v;
};

double as_it_is(double normal, std::int64_t, std::int64_t) {
    return normal;
}
Numbers times(double factor) {
    return [factor](double normal, std::int64_t, std::int64_t) { return factor * normal; };
}
// Every eighth channel lies around a number of its own, with `deviation`.
Numbers offset(double deviation) {
    return [deviation](double normal, std::int64_t, std::int64_t d) {
        return d % 8 == 3 ? normal + deviation * normal_at(99, 0, static_cast<std::uint64_t>(d))
                          : normal;
    };
}
// One number in `every` is 30 times as large.
Numbers outliers(std::int64_t every) {
    return [every](double normal, std::int64_t token, std::int64_t d) {
        return (token * 131 + d * 17) % every == 0 ? 30 * normal : normal;
    };
}
double one_huge(double normal, std::int64_t token, std::int64_t d) {
    return token == 100 && d == 5 ? 1e4 : normal;
}
// Channels from 2^-6 to 2^6 in size.
double of_many_sizes(double normal, std::int64_t, std::int64_t d) {
    return std::ldexp(normal, static_cast<int>(d % 13) - 6);
}
double around_two(double normal, std::int64_t, std::int64_t) {
    return normal + 2;
}

std::vector<Distribution> distributions() {
    return {
        {"normal", 1024, as_it_is, as_it_is, as_it_is},
        {"normal", 8192, as_it_is, as_it_is, as_it_is},
        {"peaked: 4 q", 1024, times(4), as_it_is, as_it_is},
        {"peaked: 4 q", 8192, times(4), as_it_is, as_it_is},
        {"keys offset by 10", 1024, as_it_is, offset(10), as_it_is},
        {"keys offset by 10", 8192, as_it_is, offset(10), as_it_is},
        {"keys offset by 40", 8192, as_it_is, offset(40), as_it_is},
        {"outliers in keys, 1 of 1,000", 1024, as_it_is, outliers(1000), as_it_is},
        {"outliers in queries, 1 of 1,000", 1024, outliers(1000), as_it_is, as_it_is},
        {"one key number of 1e4", 1024, as_it_is, one_huge, as_it_is},
        {"values around 2", 8192, as_it_is, as_it_is, around_two},
        {"value channels of many sizes", 1024, as_it_is, as_it_is, of_many_sizes},
    };
}

std::vector<float> draw(std::uint64_t stream, std::int64_t tokens, std::int64_t D,
                        std::int64_t first, const Numbers& number) {
    std::vector<float> drawn;
    for (std::int64_t i = 0; i < tokens * D; ++i) {
        const std::int64_t token = first + i / D;
        const double normal = normal_at(7, stream, static_cast<std::uint64_t>(first * D + i));
        drawn.push_back(from_bf16(to_bf16(static_cast<float>(number(normal, token, i % D)))));
    }
    return drawn;
}

// The root of the mean square of the difference, over that of the exact numbers.
double relative_error(const std::vector<double>& x, const std::vector<double>& exact) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        error += (x[i] - exact[i]) * (x[i] - exact[i]);
        size += exact[i] * exact[i];
    }
    return std::sqrt(error / size);
}
double absolute_error(const std::vector<double>& x, const std::vector<double>& exact) {
    double error = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        error += (x[i] - exact[i]) * (x[i] - exact[i]);
    return std::sqrt(error / static_cast<double>(x.size()));
}
double cosine(const std::vector<double>& x, const std::vector<double>& y) {
    double product = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        product += x[i] * y[i];
        xx += x[i] * x[i];
        yy += y[i] * y[i];
    }
    return product / std::sqrt(xx * yy);
}

AttentionInput input_of(const Distribution& d, const Arguments& arguments) {
    const std::int64_t D = arguments.head_dim, T = std::min(arguments.queries, d.context);
    return {D, draw(0, T, D, d.context - T, d.q), draw(1, d.context, D, 0, d.k),
            draw(2, d.context, D, 0, d.v), draw(3, T, D, 0, as_it_is)};
}

void print_row(Kernels& kernels, const Distribution& d, const Arguments& arguments) {
    const AttentionInput input = input_of(d, arguments);
    const AttentionResult exact = exact_attention(input);
    std::cout << format("| {} | {} |", d.name, d.context);
    for (const AttentionProducts products :
         {AttentionProducts::compute, AttentionProducts::eight_bit}) {
        const AttentionResult x = on_cpu(kernels, input, {products, products}).result;
        std::cout << format(" {:.3} % | {:.6} | {:.7} |", 100 * relative_error(x.out, exact.out),
                            cosine(x.out, exact.out), absolute_error(x.lse, exact.lse));
    }
    for (const Roundings& roundings :
         {Roundings{}, Roundings{.centre = Centre::none}, Roundings{.centre = Centre::mean},
          Roundings{.int8 = Int8Scale::power_of_two}, Roundings{.keys = KeyScale::of_a_key}}) {
        const AttentionResult x = rounded_attention(input, roundings);
        std::cout << format(" {:.3} % |", 100 * relative_error(x.out, exact.out));
    }
    std::cout << std::endl;
}

// Behind a forward pass in 8 bits, with the operands as they were and as they were rounded.
void print_gradients(Kernels& kernels, const Distribution& d, const Arguments& arguments) {
    using enum AttentionProducts;
    const AttentionInput input = input_of(d, arguments);
    const AttentionOnCpu plain = on_cpu(kernels, input, {compute, compute});
    std::cout << format("| {} | {} |", d.name, d.context);
    for (const AttentionProducts backward : {compute, eight_bit}) {
        const AttentionOnCpu x = on_cpu(kernels, input, {eight_bit, backward});
        std::cout << format(
            " {:.2} % | {:.2} % | {:.2} % |", 100 * relative_error(x.d_q, plain.d_q),
            100 * relative_error(x.d_k, plain.d_k), 100 * relative_error(x.d_v, plain.d_v));
    }
    std::cout << std::endl;
}

}  // namespace

int run_attention8(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench attention8",
                          .usage = kUsage,
                          .flags = {{"--head-dim", number(a.head_dim, 8, 128)},
                                    {"--queries", number(a.queries, 1, 1 << 20)},
                                    {"--threads", number(a.num_threads, 1, 1 << 30)}}};
    return run_command(words, command, [&]() -> Result<int> {
        const auto kernels =
            make_cpu_kernels({.num_threads = a.num_threads, .compute = DType::bf16});
        std::cout << "| q, k, v | context | bf16: out | cosine | lse | 8 bits: out | cosine | lse "
                     "| roundings in fp64 | no centre | mean as centre | int8 scales 2^n | a scale "
                     "per key |\n"
                     "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
        for (const Distribution& distribution : distributions())
            print_row(*kernels, distribution, a);
        std::cout
            << "\n| q, k, v | context | operands as they were: d_q | d_k | d_v | as rounded: d_q "
               "| d_k | d_v |\n|---|---|---|---|---|---|---|---|\n";
        for (const Distribution& distribution : distributions())
            print_gradients(*kernels, distribution, a);
        return 0;
    });
}

}  // namespace rm::bench
