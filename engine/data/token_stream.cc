#include "engine/data/token_stream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "engine/tokenizer/byte_tokenizer.h"
#include "engine/data/json_fields.h"

namespace rm {
namespace {

constexpr std::uint64_t kEpochStream = 0x65706f6368;

Status check_sample_fits(const std::string& path, std::string_view what, std::int64_t tokens,
                         std::int64_t context) {
    if (tokens >= context + 1) return {};
    return invalid_argument(
        "{} has {} {} tokens, one sample of context {} needs {}: give more text or a context of at "
        "most {}",
        path, tokens, what, context, context + 1, tokens - 1);
}

// The span's tokens from `offset` on, until `out` is full or the document ends; returns how many.
Result<std::int64_t> read_tokens(DocumentReader& reader, const DocumentSpan& span,
                                 std::int64_t offset, std::span<std::int32_t> out) {
    const auto room = static_cast<std::int64_t>(out.size());
    const std::int64_t text = std::min(span.bytes - offset, room);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(text));
    if (text > 0) {
        RM_RETURN_IF_ERROR(reader.read(span.document, span.first + offset, bytes));
        std::copy(bytes.begin(), bytes.end(), out.begin());
    }
    if (text == room) return text;
    out[bytes.size()] = ByteTokenizer::kEndOfDocument;
    return text + 1;
}

}  // namespace

nlohmann::json to_json(const DataPosition& position) {
    return {{"epoch", position.epoch},
            {"document", position.document},
            {"offset", position.offset},
            {"tokens", position.tokens}};
}

Result<DataPosition> data_position_from_json(const nlohmann::json& value) {
    DataPosition position;
    RM_TRY(position.epoch, integer_at(value, "epoch"));
    RM_TRY(position.document, integer_at(value, "document"));
    RM_TRY(position.offset, integer_at(value, "offset"));
    RM_TRY(position.tokens, integer_at(value, "tokens"));
    return position;
}

TokenStream::TokenStream(const TextCorpus& corpus, DocumentSet documents, std::uint64_t seed)
    : reader_(corpus),
      documents_(std::move(documents)),
      path_(corpus.path()),
      seed_(seed),
      tokens_per_epoch_(documents_.num_tokens()) {
    RM_CHECK(!documents_.spans.empty(), "a stream over no document of {}", path_);
}

Status TokenStream::check_enough(std::int64_t context) const {
    return check_sample_fits(path_, "training", tokens_per_epoch_, context);
}

const DocumentSpan& TokenStream::span_at(const DataPosition& position) {
    if (order_epoch_ != position.epoch) {
        order_ =
            shuffled(static_cast<std::int64_t>(documents_.spans.size()),
                     random_at(seed_, kEpochStream, static_cast<std::uint64_t>(position.epoch)));
        order_epoch_ = position.epoch;
    }
    const std::int64_t index = order_[static_cast<std::size_t>(position.document)];
    return documents_.spans[static_cast<std::size_t>(index)];
}

Status TokenStream::fill(DataPosition& from, std::span<std::int32_t> tokens) {
    while (!tokens.empty()) {
        const DocumentSpan& span = span_at(from);
        RM_TRY(const std::int64_t count, read_tokens(reader_, span, from.offset, tokens));
        tokens = tokens.subspan(static_cast<std::size_t>(count));
        from.offset += count;
        from.tokens += count;
        if (from.offset <= span.bytes) continue;
        from.offset = 0;
        if (++from.document == static_cast<std::int64_t>(documents_.spans.size())) {
            from.document = 0;
            ++from.epoch;
        }
    }
    return {};
}

Result<Sample> TokenStream::next(std::int64_t context) {
    RM_CHECK(context > 0, "a sample of context {}", context);
    Sample sample;
    sample.tokens.resize(static_cast<std::size_t>(context + 1));
    const std::span<std::int32_t> tokens(sample.tokens);
    DataPosition after = position_;
    RM_RETURN_IF_ERROR(fill(after, tokens.first(static_cast<std::size_t>(context))));
    // The last target is the next sample's first input.
    DataPosition peek = after;
    RM_RETURN_IF_ERROR(fill(peek, tokens.last(1)));
    position_ = after;
    return sample;
}

Status TokenStream::seek(const DataPosition& position) {
    const auto foreign = [&](std::string_view why) {
        return make_error(ErrorCode::failed_precondition,
                          "position {} is not one of {} with {} training tokens and seed {}: {}",
                          to_json(position).dump(), path_, tokens_per_epoch_, seed_, why);
    };
    const auto count = static_cast<std::int64_t>(documents_.spans.size());
    if (position.epoch < 0 || position.document < 0 || position.document >= count) {
        return foreign(format("an epoch has {} documents", count));
    }
    const std::int64_t bytes = span_at(position).bytes;
    if (position.offset < 0 || position.offset > bytes) {
        return foreign(format("that document has {} bytes", bytes));
    }
    DataPosition at{position.epoch, 0, 0, position.offset};
    for (; at.document < position.document; ++at.document)
        at.tokens += span_at(at).bytes + 1;
    if (position.tokens / tokens_per_epoch_ != position.epoch ||
        position.tokens % tokens_per_epoch_ != at.tokens) {
        return foreign(format("it stands at token {} of epoch {}", at.tokens, position.epoch));
    }
    position_ = position;
    return {};
}

Result<std::vector<Sample>> evaluation_samples(const TextCorpus& corpus,
                                               const DocumentSet& held_out, std::int64_t context,
                                               std::int64_t max_tokens) {
    RM_CHECK(context > 0, "evaluation with context {}", context);
    RM_RETURN_IF_ERROR(
        check_sample_fits(corpus.path(), "held-out", held_out.num_tokens(), context));
    const std::int64_t wanted = std::max<std::int64_t>(1, max_tokens / context);
    const std::int64_t count = std::min((held_out.num_tokens() - 1) / context, wanted);

    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count * context + 1));
    std::span<std::int32_t> rest(tokens);
    DocumentReader reader(corpus);
    for (const DocumentSpan& span : held_out.spans) {
        if (rest.empty()) break;
        RM_TRY(const std::int64_t read, read_tokens(reader, span, 0, rest));
        rest = rest.subspan(static_cast<std::size_t>(read));
    }
    std::vector<Sample> samples;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto first = tokens.begin() + i * context;
        samples.push_back({{first, first + context + 1}});
    }
    return samples;
}

}  // namespace rm
