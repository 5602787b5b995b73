#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/job_spec.h"
#include "base/result.h"
#include "engine/data/entropy.h"
#include "engine/data/mixed_stream.h"
#include "engine/data/split.h"
#include "engine/data/token_source.h"

namespace rm {

// All that a job trains on: its sources, what is held out of each, and the order of samples.
class TrainingData {
public:
    // Finds, opens and splits every source. `vocabulary` is the model's. Where no source has a
    // proportion, each gets its number of training tokens. Samples know their documents where the
    // spec says that these are separate.
    static Result<TrainingData> open(const DataSpec& spec, std::uint64_t seed,
                                     std::int64_t vocabulary);
    TrainingData(TrainingData&&) noexcept = default;
    TrainingData& operator=(TrainingData&&) noexcept = default;

    MixedStream& stream() { return *stream_; }

    // Of each source by its share, at least one sample of each that has one. Empty when nothing is
    // held out; invalid_argument when no source's held-out part is as long as one sample.
    Result<std::vector<Sample>> evaluation_samples(std::int64_t context,
                                                   std::int64_t max_tokens) const;

    // XXH3-128 of everything; of one source it is that source's own. Reads everything, once.
    Result<std::string> content_hash();
    // failed_precondition unless the data has the hash a checkpoint recorded.
    Status check_same(const std::string& recorded_hash);

    // Of the text, when all of it is tokenised as bytes; else nothing. Reads everything, once.
    Result<std::optional<TextEntropies>> entropies();

    // For people: a line per source, what was found there and its share.
    std::vector<std::string> describe() const;

private:
    struct Source {
        std::unique_ptr<TokenSource> tokens;
        Split split;
        double proportion;
    };
    TrainingData() = default;

    std::vector<Source> sources_;
    std::int64_t vocabulary_ = 0;
    Documents documents_ = Documents::joined;
    std::unique_ptr<MixedStream> stream_;
    std::string hash_;
    std::optional<std::optional<TextEntropies>> entropies_;
};

}  // namespace rm
