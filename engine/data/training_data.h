#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/data/mixed_stream.h"
#include "engine/data/split.h"
#include "engine/data/text/text_source.h"
#include "engine/data/tokens/token_source.h"
#include "spec/job_spec.h"

namespace rm {

// All data of a job: its sources, the held-out part of each, and the order of samples.
class TrainingData {
public:
    // Finds, opens and splits every source. `vocabulary` is the model's. Where no source has a
    // proportion, each gets its number of training tokens. Samples list their documents where the
    // spec keeps these separate.
    static Result<TrainingData> open(const DataSpec& spec, std::uint64_t seed,
                                     std::int64_t vocabulary, const ReadWatch& watch = {});
    TrainingData(TrainingData&&) noexcept = default;
    TrainingData& operator=(TrainingData&&) noexcept = default;

    // Looks for tokens outside the model's vocabulary; see TokenSource::check_ids.
    Status check_ids(const ReadWatch& watch = {}) const;

    MixedStream& stream() { return *stream_; }
    // The run only evaluates: all of the data is for that.
    Status hold_out_all();

    // Takes samples of each source by its share, at least one where it has one. Empty when nothing
    // is held out; invalid_argument when no source's held-out part is as long as one sample.
    Result<std::vector<Sample>> evaluation_samples(std::int64_t context,
                                                   std::int64_t max_tokens) const;

    // Covers all sources; a single source's hash is its own. This and entropies() may take long:
    // run them on their own thread.
    Result<std::string> content_hash(const ReadWatch& watch) const;
    // Entropies of the text, when all of it is tokenised as bytes; else nothing. Reads everything.
    Result<std::optional<TextEntropies>> entropies(const Activity& activity) const;

    // failed_precondition unless `hash`, that of the data, is what a checkpoint recorded. A sample
    // cannot be compared with a whole that an older build recorded: that passes.
    Status check_same(const std::string& hash, const std::string& recorded) const;

    // For people: a line per source with its content and share.
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
};

}  // namespace rm
