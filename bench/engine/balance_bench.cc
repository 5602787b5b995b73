#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>

#include "base/units.h"
#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/engine/packed_documents.h"
#include "spec/mesh.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench balance [--documents lognormal|one] [--ring R] [--seeds N] [--json]\n"
    "Attention's work (query-key pairs) on the slots of a ring, as documents are placed and as\n"
    "plain zigzag of the whole packed sequence would have it: the largest over the mean of the\n"
    "slots, of the worst ring step and of all steps together. 1 is even. Computed, nothing is "
    "timed.\n";

enum class DocumentKind { lognormal, one };
struct Arguments {
    DocumentKind documents = DocumentKind::lognormal;
    int ring = 0;                   // 0: 4, and 8
    std::uint64_t num_seeds = 100;  // 1 is the first
    Output output = Output::table;
};

// Figures over all seeds; runs are those of the slot that has the most.
struct Figures {
    std::string placement;
    int ring = 0;
    std::vector<double> worst_step, overall, runs;
};

void add(Figures& figures, const DocumentLayout& laid_out) {
    const RingBalance balance = ring_balance(laid_out);
    std::size_t runs = 0;
    for (const std::vector<Piece>& slot : laid_out.slots)
        runs = std::max(runs, slot.size());
    figures.worst_step.push_back(balance.worst_step);
    figures.overall.push_back(balance.overall);
    figures.runs.push_back(static_cast<double>(runs));
}

std::vector<Figures> measure(const Arguments& arguments, int ring) {
    const Mesh mesh = Mesh::make(1, ring, 1, 1).value();
    const std::int64_t padded = padded_length(kBalanceTokens, mesh).value();
    Figures placed{"placed", ring, {}, {}, {}}, plain{"plain zigzag", ring, {}, {}, {}};
    const bool one = arguments.documents == DocumentKind::one;
    for (std::uint64_t seed = 1; seed <= (one ? 1 : arguments.num_seeds); ++seed) {
        const std::vector<std::int64_t> documents =
            one ? std::vector<std::int64_t>{kBalanceTokens}
                : lognormal_documents(seed, kBalanceTokens, kBalanceMedian, kBalanceSigma);
        add(placed, place_documents(documents, padded, ring, Positions::reset));
        add(plain, plain_zigzag(documents, padded, ring));
    }
    return {placed, plain};
}

double largest(const std::vector<double>& values) {
    return *std::max_element(values.begin(), values.end());
}

std::string describe(const Arguments& arguments) {
    if (arguments.documents == DocumentKind::one)
        return format("one document of {} tokens", kBalanceTokens);
    return format(
        "log-normal documents, median {:.0} tokens, sigma {:.1}, {} tokens, seeds 1 to {}",
        kBalanceMedian, kBalanceSigma, kBalanceTokens, arguments.num_seeds);
}

void print_table(const std::vector<Figures>& all, const Arguments& arguments) {
    std::cout << describe(arguments) << "\n"
              << "                     step max/mean    all steps       runs per slot\n"
              << "ring  placement      median  worst    median  worst   median  most\n";
    for (const Figures& f : all) {
        std::cout << format("{:>4}  {:<13} {:7.3} {:7.3}   {:7.4} {:7.4}  {:7.0} {:5.0}\n", f.ring,
                            f.placement, median(f.worst_step), largest(f.worst_step),
                            median(f.overall), largest(f.overall), median(f.runs), largest(f.runs));
    }
}

nlohmann::ordered_json figures_json(const std::vector<double>& values) {
    return {{"median", median(values)}, {"worst", largest(values)}};
}

void print_json(const std::vector<Figures>& all, const Arguments& arguments) {
    nlohmann::ordered_json json = {{"documents", describe(arguments)},
                                   {"rows", nlohmann::ordered_json::array()}};
    for (const Figures& f : all) {
        json["rows"].push_back({{"ring", f.ring},
                                {"placement", f.placement},
                                {"step_max_over_mean", figures_json(f.worst_step)},
                                {"all_steps_max_over_mean", figures_json(f.overall)},
                                {"runs_per_slot", figures_json(f.runs)}});
    }
    std::cout << json.dump(2) << "\n";
}

}  // namespace

int run_balance(std::span<char*> words) {
    Arguments a;
    const Command command{
        .program = "ring-bench balance",
        .usage = kUsage,
        .flags = {alone("--json", a.output, Output::json),
                  {"--documents", one_of(a.documents, {{"lognormal", DocumentKind::lognormal},
                                                       {"one", DocumentKind::one}})},
                  {"--ring", number(a.ring, 1, 1024)},
                  {"--seeds", number(a.num_seeds, 1, 100'000)}}};
    return run_command(words, command, [&] {
        std::vector<Figures> all;
        for (const int ring : a.ring == 0 ? std::vector{4, 8} : std::vector{a.ring}) {
            const std::vector<Figures> rows = measure(a, ring);
            all.insert(all.end(), rows.begin(), rows.end());
        }
        a.output == Output::json ? print_json(all, a) : print_table(all, a);
        return 0;
    });
}

}  // namespace rm::bench
