#include <algorithm>
#include <memory>

#include "bench/engine/predict.h"
#include "bench/engine/ranks.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr CoreUse kBothCores{.num_threads = 2};
constexpr CoreUse kCoreEach{.num_threads = 1, .num_users = 2, .compute = DType::f32};

PredictJob on_device() {
    return {.name = "device",
            .model = {.vocabulary = 8192,
                      .hidden = 512,
                      .num_layers = 4,
                      .num_query_heads = 8,
                      .num_kv_heads = 4,
                      .head_dim = 64,
                      .feed_forward = 1536},
            .shape = {.context = 6144, .memory = {.tile_tokens = 512, .chunk_tokens = 6144}},
            .cores = kBothCores};
}

PredictJob on_host() {
    return {.name = "host",
            .model = {.vocabulary = 257,
                      .hidden = 256,
                      .num_layers = 6,
                      .num_query_heads = 4,
                      .num_kv_heads = 2,
                      .head_dim = 64,
                      .feed_forward = 768},
            .shape = {.context = 12'288,
                      .memory = {.tile_tokens = 512,
                                 .chunk_tokens = 2048,
                                 .alpha = 1,
                                 .kept = KeptPlace::host}},
            .cores = kBothCores};
}

PredictJob in_windows() {
    return {.name = "windows",
            .model = {.vocabulary = 1024,
                      .hidden = 384,
                      .num_layers = 5,
                      .num_query_heads = 3,
                      .num_kv_heads = 1,
                      .head_dim = 128,
                      .feed_forward = 1024},
            .shape = {.context = 8192,
                      .memory = {.tile_tokens = 256,
                                 .chunk_tokens = 1024,
                                 .keep = Keep::input,
                                 .alpha = 0.5,
                                 .kept = KeptPlace::host,
                                 .working = WorkingSet::windows}},
            .cores = kBothCores};
}

// Many weights for few tokens. The other core is the host that updates them.
PredictJob host_update() {
    return {.name = "update",
            .model = {.vocabulary = 16'384,
                      .hidden = 512,
                      .num_layers = 3,
                      .num_query_heads = 4,
                      .num_kv_heads = 4,
                      .head_dim = 128,
                      .feed_forward = 1536},
            .shape = {.context = 2048, .memory = {.tile_tokens = 512, .chunk_tokens = 2048}},
            .optimizer = OptimizerPlace::host,
            .cores = kCoreEach};
}

PredictJob in_a_ring() {
    return {.name = "ring",
            .model = {.vocabulary = 512,
                      .hidden = 256,
                      .num_layers = 4,
                      .num_query_heads = 4,
                      .num_kv_heads = 2,
                      .head_dim = 64,
                      .feed_forward = 1024},
            .shape = {.context = 8192, .memory = {.tile_tokens = 256, .chunk_tokens = 1024}},
            .ring = 2,
            .cores = kCoreEach};
}

Mesh mesh_of(const PredictJob& job) {
    return Mesh::make(1, job.ring, job.ulysses, job.tensor).value();
}

std::unique_ptr<Kernels> kernels_of(const PredictJob& job) {
    return make_cpu_kernels({.num_threads = job.cores.num_threads, .compute = job.cores.compute});
}

class Rank {
public:
    Rank(const PredictJob& job, std::unique_ptr<Transport> transport)
        : kernels_(kernels_of(job)),
          host_(job.optimizer == OptimizerPlace::host ? kernels_of(job) : nullptr),
          rank_(*kernels_, std::move(transport),
                {.model = job.model, .mesh = mesh_of(job), .host = host_.get()}, job.shape) {
        for (StreamTimer* timer : exchange_timers())
            timer->keep_each();
    }

    // Seconds for each message of other ranks since the last call.
    std::vector<double> waits() {
        std::vector<double> all;
        for (StreamTimer* timer : exchange_timers()) {
            const std::vector<double> some = timer->take_each();
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }

    StepParts step() {
        StepResult result = rank_.step();
        double update = result.phase_seconds["optimizer"];
        // A single rank waits for gradients only if the host takes and squares them.
        if (host_ != nullptr) update += result.phase_seconds["reduce_exposed"];
        return {.all = result.seconds,
                .offload = result.phase_seconds["offload_exposed"],
                .ring = result.phase_seconds["ring_exposed"],
                .optimizer = update,
                .phases = result.phase_seconds};
    }

    const StageArenas& arenas() { return rank_.engine().arenas(); }

private:
    std::vector<StreamTimer*> exchange_timers() {
        Model& model = rank_.engine().model();
        return {&model.ring_exposed().forward, &model.ring_exposed().backward,
                &model.ulysses_exposed(), &model.tensor_exposed()};
    }

    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Kernels> host_;
    TrainingRank rank_;
};

// One rank's measurements.
struct RankSteps {
    std::vector<StepParts> steps;
    std::vector<std::vector<double>> waits;  // by step, for each message of other ranks
    Bytes device, host;
};

// All ranks wait for the same messages in the same order.
void split_waits(const std::vector<RankSteps>& ranks, std::size_t i, StepParts& step) {
    double all = 0;
    for (std::size_t wait = 0; wait < ranks.front().waits[i].size(); ++wait) {
        double least = ranks.front().waits[i][wait];
        for (const RankSteps& rank : ranks) {
            RM_CHECK(rank.waits[i].size() == ranks.front().waits[i].size(),
                     "ranks wait for different messages");
            least = std::min(least, rank.waits[i][wait]);
            all += rank.waits[i][wait];
        }
        step.exchange += least;
    }
    step.skew = all / static_cast<double>(ranks.size()) - step.exchange;
}

RealSteps merge(const std::vector<RankSteps>& ranks) {
    RealSteps merged;
    merged.steps.resize(ranks.front().steps.size());
    const double share = 1 / static_cast<double>(ranks.size());
    for (const RankSteps& rank : ranks) {
        merged.device = std::max(merged.device, rank.device);
        merged.host = std::max(merged.host, rank.host);
        for (std::size_t i = 0; i < rank.steps.size(); ++i) {
            merged.steps[i].all = std::max(merged.steps[i].all, rank.steps[i].all);
            merged.steps[i].offload += share * rank.steps[i].offload;
            merged.steps[i].ring += share * rank.steps[i].ring;
            merged.steps[i].optimizer += share * rank.steps[i].optimizer;
            if (merged.steps[i].phases.empty()) merged.steps[i].phases = rank.steps[i].phases;
        }
    }
    for (std::size_t i = 0; i < merged.steps.size(); ++i)
        split_waits(ranks, i, merged.steps[i]);
    return merged;
}

double value_of(const std::map<std::string, double>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? 0 : found->second;
}

}  // namespace

std::vector<PredictJob> predict_jobs() {
    return {on_device(), on_host(), in_windows(), host_update(), in_a_ring()};
}

Result<ForetoldStep> foretell(const PredictJob& job, const DeviceProfile& profile, LinkSpeed link) {
    const auto kernels = kernels_of(job);
    const RankSpec spec{.model = job.model,
                        .mesh = mesh_of(job),
                        .host = job.optimizer == OptimizerPlace::host ? kernels.get() : nullptr};
    RM_TRY(const Prediction prediction, predict(spec, job.shape,
                                                {.types = kernels->types(),
                                                 .profile = &profile,
                                                 .like = kernels.get(),
                                                 .links = uniform_links(link)}));
    const auto phase = [&](const char* name) { return value_of(prediction.phases, name); };
    return ForetoldStep{{.all = prediction.step.value,
                         .offload = phase("offload_exposed"),
                         .ring = phase("ring_exposed"),
                         .optimizer = phase("optimizer") + phase("update_exposed"),
                         .phases = prediction.phases},
                        prediction.device.planned,
                        prediction.host.planned};
}

RealSteps run_steps(const PredictJob& job, int num_steps) {
    const Mesh mesh = mesh_of(job);
    std::vector<RankSteps> ranks(usize(mesh.num_ranks()));
    run_ranks(
        mesh, {}, num_steps + 1,
        [&](std::unique_ptr<Transport> transport) { return Rank(job, std::move(transport)); },
        [&](std::size_t index, Rank& rank, int i) {
            RankSteps& own = ranks[index];
            own.device = rank.arenas().device.size;
            own.host = rank.arenas().host.size;
            const StepParts step = rank.step();
            std::vector<double> waits = rank.waits();
            if (i == 0) return;
            own.steps.push_back(step);
            own.waits.push_back(std::move(waits));
        });
    return merge(ranks);
}

}  // namespace rm::bench
