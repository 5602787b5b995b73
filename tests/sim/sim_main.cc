#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/sim/cluster.h"

// Runs seeds of one scenario or of all in turn, on two threads; each failure is printed with its
// last events. One seed of one scenario can be traced from its beginning.
namespace rm::sim {
namespace {

struct Options {
    std::string scenario = "all";
    std::uint64_t first = 1;
    std::uint64_t last = 100;
    Plant plant = Plant::none;
    bool trace = false;
    bool counts = false;
};

constexpr const char* kUsage =
    "usage: sim [--scenario NAME|all] [--seeds A..B] [--plant NAME] [--trace] [--counts]\n"
    "  --trace prints every event of seed A; needs one scenario\n"
    "  --counts prints how often each kind of thing happened\n";

Result<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--trace" || name == "--counts") {
            (name == "--trace" ? options.trace : options.counts) = true;
            continue;
        }
        if (i + 1 == argc) return invalid_argument("{} stands without a value\n{}", name, kUsage);
        const std::string value = argv[++i];
        if (name == "--scenario") {
            options.scenario = value;
        } else if (name == "--seeds") {
            const std::size_t dots = value.find("..");
            options.first = std::strtoull(value.c_str(), nullptr, 10);
            options.last = dots == std::string::npos
                               ? options.first
                               : std::strtoull(value.c_str() + dots + 2, nullptr, 10);
        } else if (name == "--plant" && parse_plant(value)) {
            options.plant = *parse_plant(value);
        } else {
            return invalid_argument("{} {} is not known\n{}", name, value, kUsage);
        }
    }
    return options;
}

Result<std::vector<Scenario>> chosen(const Options& options) {
    RM_TRY(std::vector<Scenario> all, load_scenarios(RM_SCENARIOS));
    if (options.scenario == "all") return all;
    std::erase_if(all, [&](const Scenario& s) { return s.name != options.scenario; });
    if (all.empty()) return invalid_argument("there is no scenario '{}'", options.scenario);
    return all;
}

int report(const std::vector<Verdict>& failures, std::uint64_t num_seeds, double seconds) {
    for (const Verdict& failure : failures)
        std::cout << to_string(failure) << '\n';
    std::cout << format("{} seeds in {:.1} s, {} failed\n", num_seeds, seconds, failures.size());
    return failures.empty() ? 0 : 1;
}

int run(const Options& options) {
    const auto scenarios = chosen(options);
    if (!scenarios) {
        std::cerr << scenarios.error().message << '\n';
        return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    if (options.trace) {
        const Scenario& scenario = (*scenarios)[options.first % scenarios->size()];
        const Verdict verdict = run_seed(scenario, options.first, options.plant, Tracing::printed);
        std::cout << format("hash {:016x}, {} events, {:.1} virtual seconds\n{}\n", verdict.hash,
                            verdict.num_events, verdict.seconds, verdict.failure);
        return verdict.failure.empty() ? 0 : 1;
    }
    const Campaign campaign = run_seeds(*scenarios, options.first, options.last, options.plant);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    for (const auto& [thing, count] : campaign.counts) {
        if (options.counts) std::cout << format("{:>8} {}\n", count, thing);
    }
    return report(campaign.failures, options.last - options.first + 1, taken.count());
}

}  // namespace
}  // namespace rm::sim

int main(int argc, char** argv) {
    const auto options = rm::sim::parse(argc, argv);
    if (options) return rm::sim::run(*options);
    std::cerr << options.error().message;
    return 2;
}
