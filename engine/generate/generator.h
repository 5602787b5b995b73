#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/train/rank_engine.h"
#include "engine/train/save/meeting.h"

namespace rm {

// Continues a prompt token by token, on all ranks of a mesh: the prompt goes through the training
// forward pass, whose keys and values stay where it left them (KvCache); each token after it costs
// one pass over the weights and the cache. Data ranks all do the same. Collective.
class Generator {
public:
    // Borrows both. The engine's stage has new tokens.
    Generator(RankEngine& engine, Meeting& meeting);

    // Tokens that a prompt may have: one more than the stage's context.
    std::int64_t most_prompt() const { return engine_.layout().context + 1; }
    // Forgets all and takes in `prompt` but for its last token, which is for next().
    void begin(std::span<const std::int32_t> prompt);
    // Back to where begin() ended.
    void rewind() { decoding_.cache.rewind(); }
    // Takes in a token. Returns the logits of the one after it (V) on rank 0, anything elsewhere;
    // valid until the next call.
    std::span<const double> next(std::int32_t token);
    // The choice of rank 0, on every rank.
    std::int32_t agree(std::int32_t token);

private:
    void upload_latest(std::int32_t token);
    void download_logits();

    RankEngine& engine_;
    Meeting& meeting_;
    const RankStreams& streams_;
    RankEngine::Decoding& decoding_;
    MicroBatch prompt_;                 // its runs are the cache's
    SequenceRuns latest_;               // of the token under way
    std::vector<std::int32_t> tokens_;  // (T) of it
    Tensor parts_;                      // (tensor, most rows of the head) compute
    std::vector<std::byte> host_parts_;
    std::vector<double> logits_;
};

}  // namespace rm
