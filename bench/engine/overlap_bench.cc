#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <string_view>

#include "base/units.h"
#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/engine/ranks.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench overlap [--ring R] [--repeats N] [--json]\n"
    "       ring-bench overlap --windows [--chunk TOKENS] [--context TOKENS] [--repeats N] ...\n"
    "Ranks that are threads train over links on which every message takes a delay: half, and\n"
    "twice, the compute that it should hide behind, as measured without one. Exposed is what\n"
    "compute waits for a message; longer, how much longer the pass takes for each; compute, of\n"
    "these very steps. Medians of N steps. At half the compute, at most a tenth of the delay may\n"
    "be exposed; at twice, the difference to compute, within 15 %. Every rank has one thread and\n"
    "wants a core of its own.\n";

constexpr double kMostExposed = 0.10;
constexpr double kTolerance = 0.15;

struct Arguments {
    int ring = 2;
    int repeats = 7;
    Output output = Output::table;
};

// The job that ranks as threads train, over links on which every message takes `delay`.
struct OverlapRig {
    Mesh mesh;
    ModelConfig model;
    std::int64_t context = 0;
    int zero = 0;      // ZeRO stage
    double delay = 0;  // seconds
    int repeats = 7;
};

// Seconds of a pass over one micro-batch, each the mean of the ranks.
struct PassTimes {
    double all = 0;        // the pass from its start to its end
    double attention = 0;  // within it, waits for hops included
    double ring = 0;       // within that: compute waiting for hops
    double gather = 0;     // compute waiting for weights
    double reduce = 0;     // compute waiting for gradients to be summed
};
struct StepTimes {
    PassTimes forward;
    PassTimes backward;  // with the head
};

constexpr std::int64_t kTile = 512;

// One thread of compute, on the CPU in f32.
class Rank {
public:
    Rank(const OverlapRig& rig, std::unique_ptr<Transport> transport)
        : kernels_(make_cpu_kernels({.num_threads = 1})),
          rank_(*kernels_, std::move(transport),
                {.model = rig.model, .mesh = rig.mesh, .zero = rig.zero},
                {rig.context, {.tile_tokens = kTile, .chunk_tokens = kTile}, rig.model.rope}),
          engine_(rank_.engine()),
          loss_(kernels_->device(), MemoryKind::data, DType::f64, {1}) {}

    // A micro-batch in the middle of a step.
    StepTimes pass() {
        Model& model = engine_.model();
        Stream& compute = engine_.streams().compute;
        const MicroBatch& micro = rank_.batch().micro_batches.at(0);
        kernels_->device().upload(micro.tokens.data(), model.tokens(), compute);
        kernels_->device().upload(micro.targets.data(), model.targets(), compute);
        model.queue_loss_and_gradients(micro.runs, 1e-3, loss_, Accumulate::more);
        engine_.streams().communication.synchronize();
        compute.synchronize();
        return take();
    }

private:
    StepTimes take() {
        Model& model = engine_.model();
        ModelTimers& timers = model.timers();
        LayerPassTimers& ring = model.ring_exposed();
        LayerPassTimers& gather = engine_.weights().gather_exposed();
        return {{timers.forward.take(), timers.attention.forward.take(), ring.forward.take(),
                 gather.forward.take()},
                {timers.backward.take(), timers.attention.backward.take(), ring.backward.take(),
                 gather.backward.take(), engine_.weights().drain_exposed().take()}};
    }

    std::unique_ptr<Kernels> kernels_;
    TrainingRank rank_;
    RankEngine& engine_;
    Tensor loss_;
};

void add(PassTimes& sum, const PassTimes& x, double share) {
    sum.all += share * x.all;
    sum.attention += share * x.attention;
    sum.ring += share * x.ring;
    sum.gather += share * x.gather;
    sum.reduce += share * x.reduce;
}

StepTimes mean(const std::vector<StepTimes>& ranks) {
    StepTimes sum;
    const double share = 1 / static_cast<double>(ranks.size());
    for (const StepTimes& rank : ranks) {
        add(sum.forward, rank.forward, share);
        add(sum.backward, rank.backward, share);
    }
    return sum;
}

// The first step is not counted.
std::vector<StepTimes> run_rig(const OverlapRig& rig) {
    const auto num_ranks = usize(rig.mesh.num_ranks());
    std::vector<std::vector<StepTimes>> by_step(usize(rig.repeats) + 1,
                                                std::vector<StepTimes>(num_ranks));
    run_ranks(
        rig.mesh, {Seconds{rig.delay}}, rig.repeats + 1,
        [&](std::unique_ptr<Transport> transport) { return Rank(rig, std::move(transport)); },
        [&](std::size_t index, Rank& rank, int step) {
            by_step[usize(step)][index] = rank.pass();
        });
    std::vector<StepTimes> steps;
    for (std::size_t step = 1; step < by_step.size(); ++step)
        steps.push_back(mean(by_step[step]));
    return steps;
}

// A transfer to hide: `count` of them in one pass, behind `compute` seconds each.
struct Subject {
    std::string what;
    PassTimes StepTimes::*pass;
    double PassTimes::*waited;
    double (*compute)(const PassTimes& times, const OverlapRig& rig);
    int (*count)(const OverlapRig& rig);
};

struct Figure {
    std::string what;
    double compute = 0;
    double undelayed_compute = 0;
    double delay = 0;
    double exposed = 0;  // of one message
    double longer = 0;   // the pass than without a delay, per message
    double least = 0;    // bounds of `exposed`
    double most = 0;
    bool within() const { return least <= exposed && exposed <= most; }
    // False: other programs used the cores, so the delay is not the intended multiple of compute.
    bool idle() const {
        return std::abs(compute - undelayed_compute) <= kTolerance * undelayed_compute;
    }
};

int num_hops(const OverlapRig& rig) {
    return static_cast<int>(rig.model.num_layers) * (rig.mesh.size(Axis::ring) - 1);
}
double ring_step(const PassTimes& times, const OverlapRig& rig) {
    const double steps = static_cast<double>(rig.model.num_layers) * rig.mesh.size(Axis::ring);
    return (times.attention - times.ring) / steps;
}

// Two layers have a buffer: the first two of a pass are still in theirs.
int num_gathers(const OverlapRig& rig) {
    return static_cast<int>(rig.model.num_layers) - 2;
}
double layer(const PassTimes& times, const OverlapRig& rig) {
    return (times.all - times.gather - times.reduce) / static_cast<double>(rig.model.num_layers);
}

double median_of(const std::vector<StepTimes>& steps,
                 const std::function<double(const StepTimes&)>& figure) {
    std::vector<double> values;
    for (const StepTimes& step : steps)
        values.push_back(figure(step));
    return median(values);
}

Figure measure(OverlapRig rig, const Subject& subject, const std::vector<StepTimes>& undelayed,
               double delay_over_compute) {
    const auto pass = [&](const StepTimes& step) -> const PassTimes& { return step.*subject.pass; };
    const auto waited = [&](const StepTimes& step) { return pass(step).*subject.waited; };
    const auto all = [&](const StepTimes& step) { return pass(step).all; };
    const auto compute = [&](const StepTimes& step) { return subject.compute(pass(step), rig); };
    Figure row{.what = subject.what};
    row.undelayed_compute = median_of(undelayed, compute);
    row.delay = delay_over_compute * row.undelayed_compute;
    rig.delay = row.delay;
    const std::vector<StepTimes> delayed = delay_over_compute > 0 ? run_rig(rig) : undelayed;
    row.compute = median_of(delayed, compute);
    const double count = subject.count(rig);
    row.exposed = median_of(delayed, waited) / count;
    row.longer = (median_of(delayed, all) - median_of(undelayed, all)) / count;
    const double difference = row.delay - row.compute;
    row.least = difference > 0 ? (1 - kTolerance) * difference : 0;
    row.most = difference > 0 ? (1 + kTolerance) * difference : kMostExposed * row.delay;
    return row;
}

void print_row(std::ostream& out, const Figure& row) {
    const auto ms = [](double seconds) { return seconds * 1e3; };
    out << format("{:<26} {:8.2} ms {:8.2} ms {:8.2} ms {:8.2} ms", row.what, ms(row.compute),
                  ms(row.delay), ms(row.exposed), ms(row.longer));
    if (row.delay == 0) {
        out << "\n";
        return;
    }
    out << format(" {:6.1} %   {:.2} to {:.2} ms: {}{}\n", 100 * row.exposed / row.delay,
                  ms(row.least), ms(row.most), row.within() ? "within" : "MISSED",
                  row.idle() ? "" : " (the machine was not idle)");
}

std::vector<Figure> measure_all(const OverlapRig& rig, std::span<const Subject> subjects,
                                std::ostream& out) {
    const std::vector<StepTimes> undelayed = run_rig(rig);
    std::vector<Figure> rows;
    for (const Subject& subject : subjects) {
        for (const double delay_over_compute : {0.0, 0.5, 2.0}) {
            rows.push_back(measure(rig, subject, undelayed, delay_over_compute));
            print_row(out, rows.back());
            out << std::flush;
        }
    }
    return rows;
}

// A slot of 2,048 tokens. The MLP is wide enough to hide the first hop of a backward pass, so only
// the hops within attention are exposed.
OverlapRig ring_rig(const Arguments& arguments) {
    OverlapRig rig{.mesh = Mesh::make(1, arguments.ring, 1, 1).value(),
                   .repeats = arguments.repeats};
    rig.context = 2048 * arguments.ring;
    rig.model = {.vocabulary = 64,
                 .hidden = 256,
                 .num_layers = 2,
                 .num_query_heads = 4,
                 .num_kv_heads = 2,
                 .head_dim = 64,
                 .feed_forward = 6144};
    return rig;
}

OverlapRig gather_rig(const Arguments& arguments) {
    OverlapRig rig{.mesh = Mesh::make(2, 1, 1, 1).value(), .zero = 3, .repeats = arguments.repeats};
    rig.context = 2048;
    // A rank's part of a layer's gradients is one message, too; those of a tied head come last.
    rig.model = {.vocabulary = 64,
                 .hidden = 192,
                 .num_layers = 6,
                 .num_query_heads = 3,
                 .num_kv_heads = 3,
                 .head_dim = 64,
                 .feed_forward = 512,
                 .tied_head = true};
    return rig;
}

std::vector<Figure> measure_all(const Arguments& arguments, std::ostream& out) {
    const Subject ring[] = {{format("ring {} forward hop", arguments.ring), &StepTimes::forward,
                             &PassTimes::ring, ring_step, num_hops},
                            {format("ring {} backward hop", arguments.ring), &StepTimes::backward,
                             &PassTimes::ring, ring_step, num_hops}};
    const Subject gather[] = {
        {"ZeRO-3 forward gather", &StepTimes::forward, &PassTimes::gather, layer, num_gathers},
        {"ZeRO-3 backward gather", &StepTimes::backward, &PassTimes::gather, layer, num_gathers}};
    out << format("Medians of {} steps; each is of one message.\n", arguments.repeats)
        << "what                           compute       delay     exposed      longer  "
           "of delay   bounds\n";
    std::vector<Figure> rows = measure_all(ring_rig(arguments), ring, out);
    const std::vector<Figure> more = measure_all(gather_rig(arguments), gather, out);
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

void print_json(const std::vector<Figure>& rows, const Arguments& arguments) {
    nlohmann::ordered_json json = {{"steps", arguments.repeats},
                                   {"rows", nlohmann::ordered_json::array()}};
    for (const Figure& row : rows) {
        json["rows"].push_back({{"what", row.what},
                                {"compute_seconds", row.compute},
                                {"delay_seconds", row.delay},
                                {"exposed_seconds", row.exposed},
                                {"longer_seconds", row.longer},
                                {"bounds_seconds", {row.least, row.most}},
                                {"within", row.delay == 0 || row.within()},
                                {"idle", row.idle()}});
    }
    std::cout << json.dump(2) << "\n";
}

}  // namespace

int run_overlap(std::span<char*> words) {
    if (!words.empty() && std::string_view(words[0]) == "--windows")
        return run_windows(words.subspan(1));
    Arguments a;
    const Command command{.program = "ring-bench overlap",
                          .usage = kUsage,
                          .flags = {alone("--json", a.output, Output::json),
                                    {"--ring", number(a.ring, 2, 64)},
                                    {"--repeats", number(a.repeats, 1, 64)}}};
    return run_command(words, command, [&] {
        const bool json = a.output == Output::json;
        const std::vector<Figure> rows = measure_all(a, json ? std::cerr : std::cout);
        if (json) print_json(rows, a);
        return 0;
    });
}

}  // namespace rm::bench
