#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/engine/predict.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench overlap --windows [--tile TOKENS] [--chunk TOKENS] [--context TOKENS]\n"
    "                                    [--repeats N] [--profiles DIR] [--seconds N]\n"
    "Two ranks, one thread each, train the same tokens in windows and with everything resident,\n"
    "in turns: ring 2, ulysses 2, tensor 2. Exposed is what compute waits for: transfers between\n"
    "host and device (mean of the ranks), and hops and exchanges of heads and of tiles, as a "
    "share\n"
    "of the step in windows. A message counts as long as the rank waited that waited least for "
    "it.\n"
    "What the other waited beyond that is skew: it was there first, and would wait for the late\n"
    "rank whatever the network. Predicted figures are of the dry run, with a profile of this\n"
    "machine and its local link; it knows no skew. The rule of every row: where the dry run says\n"
    "that at most 2 % of the step is exposed, at most 2 % may be, and the step in windows may be\n"
    "at most 5 % longer than the resident one. Medians of N steps of each. Wants two idle cores;\n"
    "fails where a row misses the rule.\n";

constexpr double kHidden = 0.02;
constexpr double kLonger = 1.05;
constexpr CoreUse kCoreEach{.num_threads = 1, .num_users = 2, .compute = DType::f32};

struct Arguments {
    std::int64_t tile = 256;
    std::int64_t chunk = 2048;
    std::int64_t context = 16384;
    int repeats = 5;
    std::string profiles;  // empty: none are kept
    Seconds budget{25};
};

// A job in windows and the same with everything resident.
struct Pair {
    PredictJob windows, resident;
};

Pair pair_of(const Arguments& a, std::string name, int ring, int ulysses, int tensor) {
    PredictJob job{
        .name = std::move(name),
        .model = {.vocabulary = 512,
                  .hidden = 256,
                  .num_layers = 3,
                  .num_query_heads = 4,
                  .num_kv_heads = 2,
                  .head_dim = 64,
                  .feed_forward = 768},
        .shape = {.context = a.context,
                  .memory = {.tile_tokens = a.tile, .chunk_tokens = a.chunk, .alpha = 0}},
        .ring = ring,
        .ulysses = ulysses,
        .tensor = tensor,
        .cores = kCoreEach};
    PredictJob windows = job;
    windows.shape.memory.kept = KeptPlace::host;
    windows.shape.memory.working = WorkingSet::windows;
    return {windows, job};
}

double exposed(const std::map<std::string, double>& phases) {
    double sum = 0;
    for (const std::string_view kind : {"offload", "ring", "ulysses", "tensor"}) {
        const auto found = phases.find(exposed_phase(kind));
        if (found != phases.end()) sum += found->second;
    }
    return sum;
}

struct Row {
    std::string name;
    double resident = 0, windows = 0;  // seconds
    double ratio_foretold = 0;
    // Shares of the step.
    double exposed = 0, exposed_foretold = 0;
    double skew = 0, resident_skew = 0;
    double ratio() const { return windows / resident; }
    bool hides() const { return exposed_foretold <= kHidden; }
    bool within() const { return !hides() || (exposed <= kHidden && ratio() <= kLonger); }
};

// One number for each step.
struct Series {
    std::vector<double> seconds, exposed, skew;

    void add(const RealSteps& real) {
        for (const StepParts& step : real.steps) {
            seconds.push_back(step.all);
            exposed.push_back((step.offload + step.exchange) / step.all);
            skew.push_back(step.skew / step.all);
        }
    }
};

// One step of each in turn, so that a busy moment of the machine meets both.
void measure(const Pair& pair, int repeats, Row& row) {
    Series windows, resident;
    for (int i = 0; i < repeats; ++i) {
        resident.add(run_steps(pair.resident, 1));
        windows.add(run_steps(pair.windows, 1));
    }
    row.resident = median(resident.seconds);
    row.windows = median(windows.seconds);
    row.exposed = median(windows.exposed);
    row.skew = median(windows.skew);
    row.resident_skew = median(resident.skew);
}

Result<Row> row_of(const Pair& pair, const Arguments& a, const DeviceProfile& profile,
                   LinkSpeed link) {
    Row row{.name = pair.windows.name};
    RM_TRY(const ForetoldStep windows, foretell(pair.windows, profile, link));
    RM_TRY(const ForetoldStep resident, foretell(pair.resident, profile, link));
    row.ratio_foretold = windows.parts.all / resident.parts.all;
    row.exposed_foretold = exposed(windows.parts.phases) / windows.parts.all;
    measure(pair, a.repeats, row);
    return row;
}

void print(const Row& row) {
    std::cout << format(
                     "{:<10} {:7.2} s {:7.2} s   {:6.3} ({:6.3})   {:5.2} % ({:5.2} %)  "
                     "{:5.2} % ({:5.2} %)  {}\n",
                     row.name, row.resident, row.windows, row.ratio(), row.ratio_foretold,
                     100 * row.exposed, 100 * row.exposed_foretold, 100 * row.skew,
                     100 * row.resident_skew,
                     row.hides() ? (row.within() ? "hides: within" : "hides: MISSED")
                                 : "does not hide")
              << std::flush;
}

Result<int> run(const Arguments& a) {
    MachineProfiles profiles(a.budget, a.profiles);
    RM_TRY(const DeviceProfile* const profile, profiles.of(kCoreEach));
    const LinkSpeed link = measure_local_link();
    std::cout
        << format(
               "{} tokens, tile {}, chunk {}; medians of {} steps; in brackets: predicted, or "
               "of the resident step\n",
               a.context, a.tile, a.chunk, a.repeats)
        << "mesh         resident   windows   windows / resident  exposed            "
           "skew               rule\n";
    bool all = true;
    for (const Pair& pair : {pair_of(a, "ring 2", 2, 1, 1), pair_of(a, "ulysses 2", 1, 2, 1),
                             pair_of(a, "tensor 2", 1, 1, 2)}) {
        RM_TRY(const Row row, row_of(pair, a, *profile, link));
        print(row);
        all = all && row.within();
    }
    return all ? 0 : 1;
}

}  // namespace

int run_windows(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench overlap --windows",
                          .usage = kUsage,
                          .flags = {{"--tile", number(a.tile, 64, 1 << 16)},
                                    {"--chunk", number(a.chunk, 256, 1 << 20)},
                                    {"--context", number(a.context, 1024, 1 << 24)},
                                    {"--repeats", number(a.repeats, 1, 64)},
                                    {"--profiles", text(a.profiles)},
                                    {"--seconds", number(a.budget.value, 1, 1024)}}};
    return run_command(words, command, [&] { return run(a); });
}

}  // namespace rm::bench
