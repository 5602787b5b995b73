#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/layout.h"
#include "engine/comm/communicator.h"
#include "engine/model/model.h"
#include "engine/model/weight_state.h"
#include "engine/model/weights.h"
#include "engine/train/batch.h"
#include "engine/train/progress.h"
#include "engine/train/trainer.h"
#include "spec/job_spec.h"
#include "spec/place_documents.h"

namespace rm {

// The properties of a rank that are the same for all stages of a job.
struct RankSpec {
    ModelConfig model;
    Mesh mesh;
    int rank = 0;
    int zero = 0;      // ZeRO stage
    StateTypes types;  // of moments and gradients
    LinearPrecision linears = {};
    AttentionNumbers attention = AttentionNumbers::compute;
    MessageSpec messages;
    Positions positions = Positions::reset;  // of separate documents
    // A host device's, borrowed: the state lives on the host and they update it. Null: on the
    // device.
    Kernels* host = nullptr;
    Bytes host_memory;  // the most that the rank may take of the machine's memory; 0: no limit
    std::int64_t vocabulary_block = 0;  // see WeightShare
};

// The properties that a stage changes.
struct StageShape {
    std::int64_t context = 0;
    MemoryPolicy memory;
    RopeConfig rope;
    std::optional<ChunkSample> sample = {};      // of dry runs; nothing: all chunks
    std::optional<RingSample> ring_sample = {};  // likewise; nothing: all blocks
    // For inference: the most tokens that may follow a prompt of up to `context`; 0: no cache.
    std::int64_t new_tokens = 0;
    std::int64_t rope_context = 0;  // for RoPE types that depend on a context; 0: `context`
};

class PlannedPasses;

// One rank below the loop over steps: its streams, its communicator, its weights, and the model and
// trainer of the current stage. Ends its network when an exception destroys it: queued work may
// wait for peers that wait for this rank.
class RankEngine {
public:
    // Borrows the references.
    RankEngine(Kernels& kernels, Network& network, ProgressPage& progress, RankSpec spec);
    RankEngine(const RankEngine&) = delete;
    RankEngine& operator=(const RankEngine&) = delete;
    ~RankEngine();

    // Plans and makes the stage's buffers and brings the weights up to date with their master
    // copies. Errors of make_rank_layout and plan_arenas.
    Status enter(const StageShape& shape);
    // The same with the caller's arenas, which outlive the stage.
    Status enter(const StageShape& shape, PassMemory& passes);

    StepBatch cut(const std::vector<Sample>& sequences) const {
        return make_step_batch(sequences, *layout_, spec_.mesh, spec_.rank, spec_.positions);
    }

    const RankSpec& spec() const { return spec_; }
    const RankStreams& streams() const { return streams_; }
    WeightState& state() { return state_; }
    const WeightState& state() const { return state_; }
    Weights& weights() { return weights_; }
    const RankLayout& layout() const { return *layout_; }
    Model& model() { return *model_; }
    // In a stage with new tokens: what follows the prompt, which model() takes in.
    struct Decoding {
        RankLayout layout;
        KvCache cache;
        std::unique_ptr<Model> model;
    };
    Decoding& decoding() { return *decoding_; }
    bool decodes() const { return decoding_ != nullptr; }
    Trainer& trainer() { return *trainer_; }
    // The stage's arenas, if this rank has planned them itself.
    const StageArenas& arenas() const;

private:
    void leave();
    void make_models(const StageShape& shape, PassMemory& passes);

    const RankSpec spec_;
    Network& network_;
    ProgressPage& progress_;
    std::unique_ptr<Stream> compute_;
    std::unique_ptr<Stream> communication_;
    std::unique_ptr<Stream> to_host_;
    std::unique_ptr<Stream> from_host_;
    std::unique_ptr<Stream> host_;  // null without spec_.host
    std::optional<HostSide> host_side_;
    StreamOrder order_;
    std::unique_ptr<Communicator> communicator_;
    RankStreams streams_;
    WeightState state_;
    Weights weights_;
    std::optional<RankLayout> layout_;
    std::unique_ptr<PlannedPasses> passes_;
    std::unique_ptr<Decoding> decoding_;  // null: the stage has no new tokens
    std::unique_ptr<Model> model_;
    std::unique_ptr<Trainer> trainer_;
};

}  // namespace rm
