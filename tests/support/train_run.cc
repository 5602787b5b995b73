#include "tests/support/train_run.h"

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/comm/communicator.h"

namespace rm::test {
namespace {

class Recorder final : public RankObserver {
public:
    explicit Recorder(TrainRun& run) : run_(run) {}
    void on_connected(const ConnectedReport& report) override { run_.connected = report; }
    void on_started(std::int64_t /*first*/, std::int64_t /*num_steps*/) override {}
    void on_step(const StepReport& report) override { run_.steps.push_back(report); }
    void on_evaluation(const EvaluationReport& report) override {
        run_.evaluations.push_back(report);
    }
    void on_suite(const SuiteReport& report) override { run_.suites.push_back(report); }
    void on_checkpoint(std::int64_t /*step*/, const std::string& path, double /*s*/) override {
        run_.checkpoints.push_back(path);
    }
    void on_stage_done(int stage, std::int64_t step) override {
        run_.stages_done.emplace_back(stage, step);
    }
    void on_note(const std::string& text) override { run_.notes.push_back(text); }
    void on_alarm(const std::string& text) override { run_.alarms.push_back(text); }

private:
    TrainRun& run_;
};

}  // namespace

TrainRun run_training(RankConfig config, const KernelsFactory& backend, Faults* faults,
                      PublishGuard* guard) {
    return run_training_with([faults](int /*rank*/) { return faults; }, std::move(config), backend,
                             guard);
}

TrainRun run_training_with(const FaultsOf& faults_of, RankConfig config,
                           const KernelsFactory& backend, PublishGuard* guard) {
    const auto num_ranks = static_cast<std::size_t>(config.plan.mesh.num_ranks());
    const auto hub = make_local_hub(config.plan.mesh.num_ranks());
    const std::atomic<bool> stop{false};
    std::vector<TrainRun> runs(num_ranks);
    on_every_rank(config.plan.mesh.num_ranks(), [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        RankConfig own = config;
        own.rank = rank;
        TransportOptions options;
        options.rank = rank;
        options.num_ranks = config.plan.mesh.num_ranks();
        options.peers = peers_of(config.plan.mesh)[i];
        options.timeout = config.plan.collective_timeout;
        const auto transport = make_local_transport(hub, options);
        const auto kernels = backend();
        Recorder recorder(runs[i]);
        ProgressPage progress{};
        runs[i].outcome =
            run_rank(own, {*kernels, *transport, recorder, progress, stop, faults_of(rank), guard});
    });
    return runs[0];
}

RankConfig micro_run(const std::string& data, std::int64_t context, std::int64_t num_steps) {
    RankConfig config;
    config.spec.name = "test";
    config.spec.model.preset = "micro";
    config.spec.data = {{{data}}, "text", "bytes", 0.1};
    config.spec.stages = {{.context = context,
                           .batch = 2 * context,
                           .tokens = num_steps * 2 * context,
                           .learning_rate = 3e-3}};
    config.spec.memory.tile = 64;
    config.plan.memory = {64, 128};
    return config;
}

std::string some_text(std::uint64_t seed, int num_words) {
    const char* words[] = {"ring ",   "the ",    "attention ", "of ",
                           "tokens ", "moves. ", "a ",         "block "};
    std::string text;
    Rng rng(seed);
    for (int i = 0; i < num_words; ++i)
        text += words[rng.below(8)];
    return text;
}

std::map<std::string, std::string> checkpoint_bytes(const std::string& path) {
    const auto checkpoint = Checkpoint::open(path, Verify::hashes);
    RM_CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
    std::map<std::string, std::string> contents;
    for (const auto& [name, slice] : checkpoint->tensors()) {
        std::string bytes(static_cast<std::size_t>(num_bytes(slice)), '\0');
        const Status read =
            CheckpointReader(*checkpoint).read(slice, std::as_writable_bytes(std::span(bytes)));
        RM_CHECK(read.ok(), "{}", read.error().message);
        contents[name] = bytes;
    }
    contents["state"] = checkpoint->state().dump();
    return contents;
}

}  // namespace rm::test
