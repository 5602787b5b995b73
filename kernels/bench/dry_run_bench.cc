#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "engine/dry_run/predict.h"
#include "kernels/bench/arguments.h"
#include "kernels/bench/bench.h"
#include "kernels/bench/commands.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench dry-run [--repeats N] [--ranks one|every] [--chunks sampled|all]\n"
    "Predicts steps of large jobs on published profiles: how long that takes, and what comes out.\n"
    "--ranks every also executes every rank of the jobs of up to 64 ranks, once.\n"
    "--chunks prints another table: the chunks of contexts in windows against processor seconds\n"
    "and resident memory, of a dry run and of a rank's start. all: without samples of the chunks,\n"
    "as far as that takes less than a minute.\n";

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr int kMostRanks = 64;

struct Arguments {
    int repeats = 7;
    bool every_rank = false;
    std::optional<Chunks> chunks;  // the table of chunks; nothing: that of jobs
};

struct Job {
    std::string name;
    ModelConfig model;
    std::int64_t context = 0;
    Mesh mesh;
    KeptPlace kept = KeptPlace::device;
};

std::vector<Job> jobs() {
    const ModelConfig small = find_preset("llama3-8b").value();
    const ModelConfig large = find_preset("llama3-70b").value();
    const auto mesh = [](int ring, int ulysses) { return Mesh::make(1, ring, ulysses, 1).value(); };
    return {{"8B 1M", small, kMi, mesh(32, 1)},
            {"8B 1M", small, kMi, mesh(8, 4)},
            {"8B 1M host", small, kMi, mesh(8, 4), KeptPlace::host},
            {"8B 4M", small, 4 * kMi, mesh(512, 1)},
            {"8B 4M", small, 4 * kMi, mesh(64, 8)},
            {"70B 4M", large, 4 * kMi, mesh(64, 8)}};
}

std::string_view name_of(DryRunMode mode) {
    switch (mode) {
        case DryRunMode::steady:
            return "steady";
        case DryRunMode::one_rank:
            return "one rank";
        case DryRunMode::every_rank:
            return "every rank";
    }
    return "?";
}

Status print_row(const Job& job, DryRunOptions options, int repeats) {
    RankSpec spec;
    spec.model = job.model;
    spec.mesh = job.mesh;
    spec.rank = job.mesh.num_ranks() - 1;
    spec.zero = 3;
    StageShape shape{.context = job.context, .rope = job.model.rope};
    shape.memory.tile_tokens = shape.memory.chunk_tokens = 8192;
    shape.memory.kept = job.kept;
    std::vector<double> times;
    Prediction prediction;
    for (int i = 0; i < repeats; ++i) {
        const double begin = now({});
        RM_TRY(prediction, predict(spec, shape, options));
        times.push_back(1e3 * (now({}) - begin));
    }
    std::cout << format(
                     "{:<11} {:<20} {:<10} {:9.2} ms   step {:10.4} s  MFU {:4.1} %  arena {:>9} / "
                     "{:>9}  host {:>9}\n",
                     job.name, to_string(job.mesh), name_of(options.mode), median(times),
                     prediction.step.value, 100 * prediction.causal_mfu,
                     to_string(prediction.device.planned), to_string(prediction.device.lower_bound),
                     to_string(prediction.host.planned))
              << std::flush;
    return {};
}

Status print_table(const Arguments& arguments) {
    const std::vector<DeviceProfile> profiles = published_profiles();
    // 100 Gbit/s and 10 us, both ways.
    DryRunOptions options{.profile = &profiles.front(),
                          .links = uniform_links({Seconds{10e-6}, 12.5e9})};
    std::cout << "on " << options.profile->name
              << ", links of 100 Gbit/s and 10 us; arena / lower bound\n";
    for (const Job& job : jobs()) {
        for (const DryRunMode mode : {DryRunMode::steady, DryRunMode::one_rank}) {
            options.mode = mode;
            RM_RETURN_IF_ERROR(print_row(job, options, arguments.repeats));
        }
        options.mode = DryRunMode::every_rank;
        if (arguments.every_rank && job.mesh.num_ranks() <= kMostRanks)
            RM_RETURN_IF_ERROR(print_row(job, options, 1));
    }
    return {};
}

}  // namespace

int run_dry_run(std::span<char*> words) {
    Arguments a;
    const Command command{
        .program = "ring-bench dry-run",
        .usage = kUsage,
        .flags = {
            {"--repeats", number(a.repeats, 1, 1000)},
            {"--ranks", one_of(a.every_rank, {{"one", false}, {"every", true}})},
            {"--chunks", one_of(a.chunks, {{"sampled", Chunks::sampled}, {"all", Chunks::all}})}}};
    return run_command(words, command, [&]() -> Result<int> {
        RM_RETURN_IF_ERROR(a.chunks ? print_chunk_table(*a.chunks) : print_table(a));
        return 0;
    });
}

}  // namespace rm::bench
