#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "engine/dry_run/predict.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"

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

// Which chunks of a long context the dry run covers: a sample of them, or all.
enum class Chunks { sampled, all };

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

// The most chunks times layers to cover: more would take minutes and tens of GB.
constexpr std::int64_t kMostOfAll = 1024;

struct ChunkRow {
    std::string model;
    std::int64_t tokens = 0;
    std::int64_t chunk = 0;
};

const ChunkRow kChunkRows[] = {
    {"micro", 32768, 512},     {"micro", 65536, 512},    {"micro", 131072, 512},
    {"micro", 262144, 512},    {"micro", kMi, 512},      {"micro", kMi, 4096},
    {"micro", 16 * kMi, 4096}, {"llama3-8b", kMi, 4096}, {"llama3-8b", 16 * kMi, 4096}};

struct Cost {
    double seconds = 0;  // of the processor
    Bytes memory;        // the most that was resident
};

// Runs in a process of its own, so that its memory can be measured.
Result<Cost> cost_of(const std::function<Status()>& work) {
    std::cout << std::flush;
    const pid_t child = fork();
    RM_CHECK(child >= 0, "cannot start a process");
    if (child == 0) {
        const Status done = work();
        if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
        _exit(done ? 0 : 1);
    }
    int status = 0;
    rusage usage{};
    RM_CHECK(wait4(child, &status, 0, &usage) == child, "cannot wait for process {}", child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return make_error(ErrorCode::internal, "the measured process ended with {}", status);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return Cost{seconds(usage.ru_utime) + seconds(usage.ru_stime), {usage.ru_maxrss * 1024}};
}

struct ChunkJob {
    RankSpec spec;
    StageShape shape;
};

ChunkJob job_of(const ChunkRow& row) {
    ChunkJob job;
    job.spec.model = find_preset(row.model).value();
    job.shape = {row.tokens, {}, job.spec.model.rope};
    job.shape.memory.chunk_tokens = row.chunk;
    job.shape.memory.kept = KeptPlace::host;
    job.shape.memory.working = WorkingSet::windows;
    return job;
}

Status dry_run(const ChunkJob& job, Chunks chunks, const DeviceProfile& profile) {
    DryRunOptions options{.profile = &profile};
    if (chunks == Chunks::all) options.mode = DryRunMode::one_rank;
    RM_TRY([[maybe_unused]] const Prediction prediction, predict(job.spec, job.shape, options));
    return {};
}

// As RankEngine::enter does it; without limits, so that any context is planned.
Status plan(const ChunkJob& job, Chunks chunks) {
    const auto like = make_cpu_kernels({.num_threads = 1, .compute = DType::bf16});
    StageShape shape = job.shape;
    if (chunks == Chunks::all) shape.sample = ChunkSample{usize(shape.context)};
    RM_TRY([[maybe_unused]] const StageArenas arenas, plan_arenas(job.spec, shape, *like));
    return {};
}

std::string text_of(const Cost& cost) {
    return format("{:9.2} s {:8.0} MB", cost.seconds,
                  static_cast<double>(cost.memory.value) * 1e-6);
}

// Chunks of a context in windows against seconds and memory, of the dry run and of the plan that
// every rank makes at its start. Chunks::all leaves out rows that would take minutes.
Status print_chunk_table(Chunks chunks) {
    const DeviceProfile profile = published_profiles().front();
    std::cout << format("model      tokens     chunk  chunks  dry run on {:<14} start of a rank\n",
                        profile.name);
    for (const ChunkRow& row : kChunkRows) {
        const std::int64_t count = row.tokens / row.chunk;
        const ChunkJob job = job_of(row);
        if (chunks == Chunks::all && count * job.spec.model.num_layers > kMostOfAll) continue;
        RM_TRY(const Cost dry, cost_of([&] { return dry_run(job, chunks, profile); }));
        RM_TRY(const Cost start, cost_of([&] { return plan(job, chunks); }));
        std::cout << format("{:<10} {:9} {:6} {:7}  {} {}\n", row.model, row.tokens, row.chunk,
                            count, text_of(dry), text_of(start))
                  << std::flush;
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
