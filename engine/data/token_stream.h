#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/data/split.h"
#include "engine/data/tokens/token_source.h"
#include "spec/job_spec.h"

namespace rm {

// A place in the training order of one source. Mesh-independent: it counts tokens of the one global
// stream. `tokens` follows from the rest; it is stored to check that a position belongs to the
// data.
struct StreamPosition {
    std::int64_t epoch = 0;
    std::int64_t document = 0;  // index in this epoch's shuffled order
    std::int64_t offset = 0;    // tokens of that document already consumed
    std::int64_t tokens = 0;    // consumed since the start of the stream
    bool operator==(const StreamPosition&) const = default;
};
nlohmann::json to_json(const StreamPosition& position);
Result<StreamPosition> stream_position_from_json(const nlohmann::json& value);

// Context + 1 consecutive tokens: inputs are the first `context`, targets the last.
struct Sample {
    std::vector<std::int32_t> tokens;
    // Lengths of the documents among the first `context` tokens, in order; one where documents are
    // joined. A document includes its end token; the rest of a document that began in an earlier
    // sample counts as a document.
    std::vector<std::int64_t> documents;
    // Documents are separate, and the last target is the first token of another document.
    bool ends_document = false;
};

// Reads documents of a source with their ends. An id outside the `vocabulary` is out_of_range,
// which names document, token and value.
class SpanReader {
public:
    SpanReader(const TokenSource& source, std::int64_t vocabulary);

    // Reads the span's tokens from `offset` on, then `end`, until `out` is full or the document
    // ends; returns their number.
    Result<std::int64_t> read(const DocumentSpan& span, std::optional<TokenId> end,
                              std::int64_t offset, std::span<TokenId> out);

private:
    Status check(const DocumentSpan& span, std::int64_t offset, std::span<const TokenId> ids) const;

    const TokenSource* source_;
    std::unique_ptr<TokenReader> reader_;
    std::int64_t vocabulary_;
};

// The training order of one source: epoch after epoch, its documents shuffled by (seed, epoch),
// each followed by its end token. A sample is context + 1 tokens; the next one starts context
// tokens later, so every token but the first is a target once; samples cross the ends of documents
// and epochs. Borrows the source. Not thread safe.
class TokenStream {
public:
    TokenStream(const TokenSource& source, DocumentSet documents, std::uint64_t seed,
                std::int64_t vocabulary, Documents kind = Documents::joined);

    // invalid_argument when one epoch is shorter than one sample.
    Status check_enough(std::int64_t context) const;

    // An error (a file that changed) leaves the position as it was.
    Result<Sample> next(std::int64_t context);

    const StreamPosition& position() const { return position_; }
    // Continues exactly as the stream at this position did; failed_precondition when the position
    // does not belong to this data and seed.
    Status seek(const StreamPosition& position);

    std::int64_t tokens_per_epoch() const { return tokens_per_epoch_; }

private:
    const DocumentSpan& span_at(const StreamPosition& position);
    std::int64_t length_of(const DocumentSpan& span) const;
    // Returns the number of tokens read from each document, in order.
    Result<std::vector<std::int64_t>> fill(StreamPosition& from, std::span<std::int32_t> tokens);

    SpanReader reader_;
    DocumentSet documents_;
    std::string path_;  // for messages
    std::uint64_t seed_;
    std::int64_t tokens_per_epoch_;
    Documents kind_;
    StreamPosition position_;
    std::int64_t order_epoch_ = -1;
    std::vector<std::int64_t> order_;  // of order_epoch_
};

// Held-out samples in the set's order, each target once; as many whole samples as fit `max_tokens`
// targets, at least one. invalid_argument when the set is shorter than one sample.
Result<std::vector<Sample>> evaluation_samples(const TokenSource& source,
                                               const DocumentSet& held_out, std::int64_t vocabulary,
                                               std::int64_t context, std::int64_t max_tokens,
                                               Documents kind = Documents::joined);

}  // namespace rm
