#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iostream>

#include "base/clock.h"
#include "engine/dry_run/predict.h"
#include "engine/train/dry_rank.h"
#include "kernels/bench/commands.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;
// Chunks times layers that are gone over: more would take minutes and tens of GB.
constexpr std::int64_t kMostOfAll = 1024;

struct Row {
    std::string model;
    std::int64_t tokens = 0;
    std::int64_t chunk = 0;
};

const Row kRows[] = {
    {"micro", 32768, 512},     {"micro", 65536, 512},    {"micro", 131072, 512},
    {"micro", 262144, 512},    {"micro", kMi, 512},      {"micro", kMi, 4096},
    {"micro", 16 * kMi, 4096}, {"llama3-8b", kMi, 4096}, {"llama3-8b", 16 * kMi, 4096}};

struct Cost {
    double seconds = 0;  // of the processor
    Bytes memory;        // the most that was resident
};

// In a process of its own, whose memory is nobody else's.
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

struct Job {
    RankSpec spec;
    StageShape shape;
};

Job job_of(const Row& row) {
    Job job;
    job.spec.model = find_preset(row.model).value();
    job.shape = {row.tokens, {}, job.spec.model.rope};
    job.shape.memory.chunk_tokens = row.chunk;
    job.shape.memory.kept = KeptPlace::host;
    job.shape.memory.working = WorkingSet::windows;
    return job;
}

Status dry_run(const Job& job, Chunks chunks, const DeviceProfile& profile) {
    DryRunOptions options{.profile = &profile};
    if (chunks == Chunks::all) options.mode = DryRunMode::one_rank;
    RM_TRY([[maybe_unused]] const Prediction prediction, predict(job.spec, job.shape, options));
    return {};
}

// As RankEngine::enter does it; without limits, so that any context is planned.
Status plan(const Job& job, Chunks chunks) {
    const auto like = make_cpu_kernels({.num_threads = 1, .compute = DType::bf16});
    StageShape shape = job.shape;
    if (chunks == Chunks::all) shape.sample = ChunkSample{static_cast<std::size_t>(shape.context)};
    RM_TRY([[maybe_unused]] const StageArenas arenas, plan_arenas(job.spec, shape, *like));
    return {};
}

std::string text_of(const Cost& cost) {
    return format("{:9.2} s {:8.0} MB", cost.seconds,
                  static_cast<double>(cost.memory.value) * 1e-6);
}

}  // namespace

Status print_chunk_table(Chunks chunks) {
    const DeviceProfile profile = published_profiles().front();
    std::cout << format("model      tokens     chunk  chunks  dry run on {:<14} start of a rank\n",
                        profile.name);
    for (const Row& row : kRows) {
        const std::int64_t count = row.tokens / row.chunk;
        const Job job = job_of(row);
        if (chunks == Chunks::all && count * job.spec.model.num_layers > kMostOfAll) continue;
        RM_TRY(const Cost dry, cost_of([&] { return dry_run(job, chunks, profile); }));
        RM_TRY(const Cost start, cost_of([&] { return plan(job, chunks); }));
        std::cout << format("{:<10} {:9} {:6} {:7}  {} {}\n", row.model, row.tokens, row.chunk,
                            count, text_of(dry), text_of(start))
                  << std::flush;
    }
    return {};
}

}  // namespace rm::bench
