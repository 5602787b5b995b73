#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/data/document_reader.h"
#include "engine/data/split.h"
#include "engine/data/text_corpus.h"

namespace rm {

// A place in the training order. Mesh-independent: it counts tokens of the one global stream.
// `tokens` follows from the rest; stored all the same, it shows that a position belongs to this
// data.
struct DataPosition {
    std::int64_t epoch = 0;
    std::int64_t document = 0;  // index in this epoch's shuffled order
    std::int64_t offset = 0;    // tokens of that document already consumed
    std::int64_t tokens = 0;    // consumed since the start of the stream
    bool operator==(const DataPosition&) const = default;
};
nlohmann::json to_json(const DataPosition& position);
Result<DataPosition> data_position_from_json(const nlohmann::json& value);

// Context + 1 consecutive tokens: inputs are the first `context`, targets the last.
struct Sample {
    std::vector<std::int32_t> tokens;
};

// The training order: epoch after epoch, the documents of each shuffled by (seed, epoch) and each
// followed by ByteTokenizer::kEndOfDocument. A sample takes context + 1 tokens and the next one
// starts context tokens later, so every token but the first is a target once; samples run over the
// ends of documents and epochs. Borrows the corpus. Not thread safe.
class TokenStream {
public:
    TokenStream(const TextCorpus& corpus, DocumentSet documents, std::uint64_t seed);

    // invalid_argument when one epoch is shorter than one sample.
    Status check_enough(std::int64_t context) const;

    // After an error (a file that changed) the position is what it was.
    Result<Sample> next(std::int64_t context);

    const DataPosition& position() const { return position_; }
    // Continues exactly as the stream that had this position did; failed_precondition when the
    // position is not one of this data and seed.
    Status seek(const DataPosition& position);

    std::int64_t tokens_per_epoch() const { return tokens_per_epoch_; }

private:
    const DocumentSpan& span_at(const DataPosition& position);
    Status fill(DataPosition& from, std::span<std::int32_t> tokens);

    DocumentReader reader_;
    DocumentSet documents_;
    std::string path_;  // for messages
    std::uint64_t seed_;
    std::int64_t tokens_per_epoch_;
    DataPosition position_;
    std::int64_t order_epoch_ = -1;
    std::vector<std::int64_t> order_;  // of order_epoch_
};

// Held-out samples in the set's order, each target once; as many whole samples as fit `max_tokens`
// targets, at least one. invalid_argument when the set is shorter than one sample.
Result<std::vector<Sample>> evaluation_samples(const TextCorpus& corpus,
                                               const DocumentSet& held_out, std::int64_t context,
                                               std::int64_t max_tokens);

}  // namespace rm
