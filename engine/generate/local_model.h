#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/transport/transport.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/rank_device.h"
#include "engine/train/rank_engine.h"
#include "engine/train/save/meeting.h"
#include "engine/train/save/trained_model.h"

namespace rm {

struct LocalModelOptions {
    // A checkpoint, a directory of checkpoints (the newest whole one), or a Hugging Face directory.
    std::string path;
    std::string tokenizer;         // instead of the model's own; empty: that
    RankDevice device;             // one rank computes
    std::optional<DType> compute;  // nothing: as trained; of a Hugging Face model f32 on a CPU
    int num_threads = 1;           // of a CPU
};

// A trained model on this machine, for inference on one rank: weights without gradients and
// moments, and the tokenizer.
class LocalModel {
public:
    // Reads and verifies the weights. not_found: nothing is there; data_loss: damaged files;
    // failed_precondition: a tokenizer that is not here; resource_exhausted: no room. `activity`
    // counts bytes and can cancel.
    static Result<std::unique_ptr<LocalModel>> open(const LocalModelOptions& options,
                                                    Activity& activity);

    // Makes room for sequences of up to `tokens` and `new_tokens` that follow (0: none do).
    // resource_exhausted: there is none, in windows neither.
    Status make_room(std::int64_t tokens, std::int64_t new_tokens);

    RankEngine& engine() { return *engine_; }
    Meeting& meeting() { return *meeting_; }
    const Tokenizer& tokenizer() const { return *tokenizer_; }
    const TrainedModel& trained() const { return trained_; }
    // The directory that the weights are from.
    const std::string& path() const { return path_; }
    const std::vector<std::string>& notes() const { return notes_; }

private:
    explicit LocalModel(const LocalModelOptions& options) : options_(options) {}
    Status find();
    Status find_checkpoint();
    Status find_directory();
    Status open_tokenizer();
    Status make_engine();
    Status load(Activity& activity);

    const LocalModelOptions options_;
    bool is_checkpoint_ = false;
    std::string path_;
    TrainedModel trained_;
    std::vector<std::string> notes_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Kernels> host_;  // null: the weights are on the device
    std::unique_ptr<Transport> network_;
    ProgressPage progress_{};
    std::unique_ptr<RankEngine> engine_;
    std::unique_ptr<Meeting> meeting_;
};

}  // namespace rm
