#include "engine/data/training_data.h"

#include <numeric>

#include "base/random.h"
#include "engine/data/data_format.h"
#include "engine/data/tokens/text_tokens.h"

namespace rm {
namespace {

constexpr std::uint64_t kSourceStream = 0x736f75726365;

// The first source has the job's own seed; the others' orders are independent of it.
std::uint64_t seed_of(std::uint64_t seed, std::size_t source) {
    return source == 0 ? seed : random_at(seed, kSourceStream, source);
}

}  // namespace

Result<TrainingData> TrainingData::open(const DataSpec& spec, std::uint64_t seed,
                                        std::int64_t vocabulary, const ReadWatch& watch) {
    TrainingData data;
    data.vocabulary_ = vocabulary;
    data.documents_ = spec.documents;
    RM_TRY(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(spec.tokenizer));
    std::vector<MixedStream::Part> parts;
    for (std::size_t i = 0; i < spec.sources.size(); ++i) {
        const DataSource& asked = spec.sources[i];
        RM_TRY(const FoundData found, find_data(asked.path, spec.format, watch));
        Source source;
        RM_TRY(source.tokens, open_tokens(found, *tokenizer, vocabulary, watch));
        RM_TRY(source.split, split_held_out(*source.tokens, spec.holdout, seed_of(seed, i)));
        if (source.split.train.spans.empty()) {
            return invalid_argument("{} holds no tokens ({})", asked.path,
                                    source.tokens->describe());
        }
        const auto tokens = static_cast<double>(source.split.train.num_tokens());
        source.proportion = asked.proportion > 0 ? asked.proportion : tokens;
        parts.push_back({TokenStream(*source.tokens, source.split.train, seed_of(seed, i),
                                     vocabulary, spec.documents),
                         source.proportion});
        data.sources_.push_back(std::move(source));
    }
    data.stream_ = std::make_unique<MixedStream>(std::move(parts), seed);
    return data;
}

Status TrainingData::hold_out_all() {
    for (Source& source : sources_) {
        RM_TRY(Split whole, split_held_out(*source.tokens, 0, 0));
        source.split.held_out = std::move(whole.train);
    }
    return {};
}

Status TrainingData::check_ids(const ReadWatch& watch) const {
    for (const Source& source : sources_)
        RM_RETURN_IF_ERROR(source.tokens->check_ids(vocabulary_, watch));
    return {};
}

Result<std::vector<Sample>> TrainingData::evaluation_samples(std::int64_t context,
                                                             std::int64_t max_tokens) const {
    std::vector<Sample> all;
    std::optional<Error> too_short;
    const std::vector<std::int64_t>& weights = stream_->weights();
    const auto sum =
        static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const DocumentSet& held_out = sources_[i].split.held_out;
        if (held_out.spans.empty()) continue;
        const double share = static_cast<double>(weights[i]) / sum;
        auto samples = rm::evaluation_samples(
            *sources_[i].tokens, held_out, vocabulary_, context,
            static_cast<std::int64_t>(static_cast<double>(max_tokens) * share), documents_);
        if (samples) {
            all.insert(all.end(), samples->begin(), samples->end());
        } else if (samples.error().code != ErrorCode::invalid_argument) {
            return samples.error();
        } else {
            too_short = samples.error();
        }
    }
    if (all.empty() && too_short) return *too_short;
    return all;
}

Result<std::string> TrainingData::content_hash(const ReadWatch& watch) const {
    std::vector<std::string> hashes;
    for (const Source& source : sources_) {
        RM_TRY(std::string hash, source.tokens->content_hash(watch));
        hashes.push_back(std::move(hash));
    }
    return hashes.size() == 1 ? hashes.front() : combined_hash(hashes);
}

Status TrainingData::check_same(const std::string& hash, const std::string& recorded) const {
    if (hash == recorded) return {};
    if (is_sampled(hash) && !is_sampled(recorded)) return {};
    std::string paths;
    for (const Source& source : sources_)
        paths += format("{}{}", paths.empty() ? "" : ", ", source.tokens->path());
    return make_error(
        ErrorCode::failed_precondition,
        "the data in {} has hash {}, the checkpoint was trained on {}: resume with the "
        "same data and tokenizer, or start a new job",
        paths, hash, recorded);
}

Result<std::optional<TextEntropies>> TrainingData::entropies(const Activity& activity) const {
    std::vector<const TextSource*> texts;
    for (const Source& source : sources_) {
        if (const auto* bytes = dynamic_cast<const ByteSource*>(source.tokens.get())) {
            texts.push_back(&bytes->text());
        }
    }
    std::optional<TextEntropies> measured;
    if (texts.size() == sources_.size()) {
        RM_TRY(measured, text_entropies(texts, activity));
    }
    return measured;
}

std::vector<std::string> TrainingData::describe() const {
    std::vector<std::string> lines;
    double sum = 0;
    for (const Source& source : sources_)
        sum += source.proportion;
    for (const Source& source : sources_) {
        lines.push_back(format("{}: {}", source.tokens->path(), source.tokens->describe()));
        if (sources_.size() > 1) {
            lines.back() += format(", {:.1}% of the samples", 100 * source.proportion / sum);
        }
    }
    return lines;
}

}  // namespace rm
