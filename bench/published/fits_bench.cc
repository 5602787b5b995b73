#include <algorithm>
#include <iostream>
#include <map>
#include <string_view>

#include "bench/arguments.h"
#include "bench/commands.h"
#include "bench/published/published_fits.h"

namespace rm::bench {
namespace {

constexpr std::string_view kFitsUsage =
    "usage: ring-bench fits\n"
    "Contexts that others have published as fitting (fits) or not fitting (does not) their "
    "machines,\n"
    "and what a rank of ours takes of its device and of its share of the host with the same\n"
    "strategy, by a dry run. The margin is that of the memory with the least room; below 0 it "
    "does\n"
    "not fit. Rows whose strategy we cannot express are printed and not judged.\n"
    "Exit code 1: a verdict of ours is another one.\n";

double gib(Bytes bytes) {
    return static_cast<double>(bytes.value) / (1 << 30);
}

// 64Ki, 4Mi; or 500K and 3.7M where the publication counts so.
std::string tokens_text(std::int64_t tokens) {
    if (tokens % 1000 == 0) {
        const auto number = static_cast<double>(tokens);
        return tokens < 1'000'000 ? format("{:.0}K", number / 1e3) : format("{:.2}M", number / 1e6);
    }
    return tokens % (1 << 20) == 0 ? format("{}Mi", tokens >> 20) : format("{}Ki", tokens >> 10);
}

std::string_view word(bool fits) {
    return fits ? "fits" : "does not";
}

struct Margin {
    std::string_view of;
    double gib = 0;
    double share = 0;
};
Margin margin_of(std::string_view name, Bytes taken, Bytes available) {
    const double left = gib(available) - gib(taken);
    return {name, left, left / gib(available)};
}

// That of the memory with the least room.
Margin least_margin(const PublishedFit& fit, const FitNeed& need) {
    const Margin device = margin_of("device", need.device, fit.machine.device);
    const Margin host = margin_of("host", need.host, fit.host_available());
    return host.share < device.share ? host : device;
}

std::string verdict_text(const PublishedFit& fit, Verdict verdict) {
    switch (verdict) {
        case Verdict::agrees:
            return "agrees";
        case Verdict::other_reason:
            return format("agrees; there the {} is short", fit.shortage);
        case Verdict::differs:
            return "DIFFERS";
        case Verdict::not_judged:
            return "not judged";
    }
    return {};
}

constexpr std::string_view kHead =
    "by    model        tokens   devices   strategy                   published  ours      "
    "device, of GiB   host, of GiB     least margin              peak there  verdict\n";

void print(const PublishedFit& fit, const FitNeed& need) {
    const Margin least = least_margin(fit, need);
    std::cout << format(
        "{:<5} {:<12} {:>6} {:>3} {:<5}  {:<26} {:<10} {:<9} {:6.1} {:7.1}  {:7.1} {:7.1}  "
        "{:8.1} GiB {:7.1} % {:<7} {:>10}  {}\n",
        fit.by, fit.model, tokens_text(fit.context), fit.mesh.num_ranks(), fit.machine.profile,
        fit.strategy, word(fit.fits), word(is_within(fit, need)), gib(need.device),
        gib(fit.machine.device), gib(need.host), gib(fit.host_available()), least.gib,
        100 * least.share, least.of,
        fit.peak_gb > 0 ? format("{:.1} GB", fit.peak_gb) : std::string(),
        verdict_text(fit, verdict_of(fit, need)));
}

void print_source(const PublishedFit& fit) {
    std::cout << format("{:<5} {:<12} {:>6} {:>3} {:<5}  {:<26} {}; host: {}{}\n", fit.by,
                        fit.model, tokens_text(fit.context), fit.mesh.num_ranks(),
                        fit.machine.profile, fit.strategy, fit.source, fit.machine.node_source,
                        fit.unjudged.empty() ? "" : format("; not judged: {}", fit.unjudged));
}

Result<int> run() {
    const std::vector<PublishedFit> fits = published_fits();
    std::map<Verdict, int> number;
    std::cout << kHead;
    for (const PublishedFit& fit : fits) {
        RM_TRY(const FitNeed need, need_of(fit));
        print(fit, need);
        ++number[verdict_of(fit, need)];
    }
    std::cout << format(
        "\n{} verdicts agree, {} of them for another reason; {} differ; {} are not judged\n\n",
        number[Verdict::agrees] + number[Verdict::other_reason], number[Verdict::other_reason],
        number[Verdict::differs], number[Verdict::not_judged]);
    for (const PublishedFit& fit : fits)
        print_source(fit);
    return number[Verdict::differs] == 0 ? 0 : 1;
}

}  // namespace

int run_fits(std::span<char*> words) {
    const Command command{.program = "ring-bench fits", .usage = kFitsUsage, .flags = {}};
    return run_command(words, command, run);
}

}  // namespace rm::bench
