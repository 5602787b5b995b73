#include "engine/data/token_stream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "engine/json/json_object.h"

namespace rm {
namespace {

constexpr std::uint64_t kEpochStream = 0x65706f6368;

Status check_sample_fits(const std::string& path, std::string_view what, std::int64_t tokens,
                         std::int64_t context) {
    if (tokens >= context + 1) return {};
    return invalid_argument(
        "{} has {} {} tokens, one sample of context {} needs {}: give more data or a context of at "
        "most {}",
        path, tokens, what, context, context + 1, tokens - 1);
}

void join(Sample& sample) {
    sample.documents = {std::ssize(sample.tokens) - 1};
    sample.ends_document = false;
}

// The sample that begins at token `first` of documents that end before tokens `ends`.
Sample cut_sample(std::span<const std::int32_t> tokens, std::span<const std::int64_t> ends,
                  std::int64_t first, std::int64_t context) {
    const auto part = tokens.subspan(usize(first), usize(context + 1));
    Sample sample;
    sample.tokens.assign(part.begin(), part.end());
    const std::int64_t last = first + context;
    auto end = std::upper_bound(ends.begin(), ends.end(), first);
    for (; first < last; ++end) {
        const std::int64_t stop = std::min(*end, last);
        sample.documents.push_back(stop - first);
        sample.ends_document = stop == *end;
        first = stop;
    }
    return sample;
}

}  // namespace

nlohmann::json to_json(const StreamPosition& position) {
    return {{"epoch", position.epoch},
            {"document", position.document},
            {"offset", position.offset},
            {"tokens", position.tokens}};
}

Result<StreamPosition> stream_position_from_json(const nlohmann::json& value) {
    StreamPosition position;
    JsonObject object = JsonObject::of_file(value);
    object.require("epoch", position.epoch)
        .require("document", position.document)
        .require("offset", position.offset)
        .require("tokens", position.tokens);
    RM_RETURN_IF_ERROR(object.status());
    return position;
}

SpanReader::SpanReader(const TokenSource& source, std::int64_t vocabulary)
    : source_(&source), reader_(source.make_reader()), vocabulary_(vocabulary) {}

Status SpanReader::check(const DocumentSpan& span, std::int64_t offset,
                         std::span<const TokenId> ids) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && ids[i] < vocabulary_) continue;
        return make_error(ErrorCode::out_of_range,
                          "{}: token {} of {} is {}; the model's vocabulary has ids 0 to {}",
                          source_->path(), span.first + offset + static_cast<std::int64_t>(i),
                          source_->document_name(span.document), ids[i], vocabulary_ - 1);
    }
    return {};
}

Result<std::int64_t> SpanReader::read(const DocumentSpan& span, std::optional<TokenId> end,
                                      std::int64_t offset, std::span<TokenId> out) {
    const std::int64_t stored = std::min(span.tokens - offset, std::ssize(out));
    if (stored > 0) {
        const auto part = out.first(usize(stored));
        RM_RETURN_IF_ERROR(reader_->read(span.document, span.first + offset, part));
        RM_RETURN_IF_ERROR(check(span, offset, part));
    }
    if (stored == std::ssize(out) || !end) return stored;
    out[usize(stored)] = *end;
    return stored + 1;
}

TokenStream::TokenStream(const TokenSource& source, DocumentSet documents, std::uint64_t seed,
                         std::int64_t vocabulary, Documents kind)
    : reader_(source, vocabulary),
      documents_(std::move(documents)),
      path_(source.path()),
      seed_(seed),
      tokens_per_epoch_(documents_.num_tokens()),
      kind_(kind) {
    RM_CHECK(!documents_.spans.empty(), "a stream over no document of {}", path_);
}

Status TokenStream::check_enough(std::int64_t context) const {
    return check_sample_fits(path_, "training", tokens_per_epoch_, context);
}

const DocumentSpan& TokenStream::span_at(const StreamPosition& position) {
    if (order_epoch_ != position.epoch) {
        order_ =
            shuffled(static_cast<std::int64_t>(documents_.spans.size()),
                     random_at(seed_, kEpochStream, static_cast<std::uint64_t>(position.epoch)));
        order_epoch_ = position.epoch;
    }
    const std::int64_t index = order_[usize(position.document)];
    return documents_.spans[usize(index)];
}

std::int64_t TokenStream::length_of(const DocumentSpan& span) const {
    return span.tokens + (documents_.end ? 1 : 0);
}

Result<std::vector<std::int64_t>> TokenStream::fill(StreamPosition& from,
                                                    std::span<std::int32_t> tokens) {
    std::vector<std::int64_t> lengths;
    while (!tokens.empty()) {
        const DocumentSpan& span = span_at(from);
        RM_TRY(const std::int64_t count, reader_.read(span, documents_.end, from.offset, tokens));
        lengths.push_back(count);
        tokens = tokens.subspan(usize(count));
        from.offset += count;
        from.tokens += count;
        if (from.offset < length_of(span)) continue;
        from.offset = 0;
        if (++from.document == static_cast<std::int64_t>(documents_.spans.size())) {
            from.document = 0;
            ++from.epoch;
        }
    }
    return lengths;
}

Result<Sample> TokenStream::next(std::int64_t context) {
    RM_CHECK(context > 0, "a sample of context {}", context);
    Sample sample;
    sample.tokens.resize(usize(context + 1));
    const std::span<std::int32_t> tokens(sample.tokens);
    StreamPosition after = position_;
    RM_TRY(sample.documents, fill(after, tokens.first(usize(context))));
    sample.ends_document = after.offset == 0;
    if (kind_ == Documents::joined) join(sample);
    // The last target is the next sample's first input.
    StreamPosition peek = after;
    if (const auto peeked = fill(peek, tokens.last(1)); !peeked) return peeked.error();
    position_ = after;
    return sample;
}

Status TokenStream::seek(const StreamPosition& position) {
    const auto foreign = [&](std::string_view why) {
        return make_error(ErrorCode::failed_precondition,
                          "position {} is not one of {} with {} training tokens and seed {}: {}",
                          to_json(position).dump(), path_, tokens_per_epoch_, seed_, why);
    };
    const auto count = static_cast<std::int64_t>(documents_.spans.size());
    if (position.epoch < 0 || position.document < 0 || position.document >= count) {
        return foreign(format("an epoch has {} documents", count));
    }
    const std::int64_t length = length_of(span_at(position));
    if (position.offset < 0 || position.offset >= length) {
        return foreign(format("that document has {} tokens", length));
    }
    StreamPosition at{position.epoch, 0, 0, position.offset};
    for (; at.document < position.document; ++at.document)
        at.tokens += length_of(span_at(at));
    if (position.tokens / tokens_per_epoch_ != position.epoch ||
        position.tokens % tokens_per_epoch_ != at.tokens) {
        return foreign(format("it begins at token {} of epoch {}", at.tokens, position.epoch));
    }
    position_ = position;
    return {};
}

Result<std::vector<Sample>> evaluation_samples(const TokenSource& source,
                                               const DocumentSet& held_out, std::int64_t vocabulary,
                                               std::int64_t context, std::int64_t max_tokens,
                                               Documents kind) {
    RM_CHECK(context > 0, "evaluation with context {}", context);
    RM_RETURN_IF_ERROR(
        check_sample_fits(source.path(), "held-out", held_out.num_tokens(), context));
    const std::int64_t wanted = std::max<std::int64_t>(1, max_tokens / context);
    const std::int64_t count = std::min((held_out.num_tokens() - 1) / context, wanted);

    std::vector<std::int32_t> tokens(usize(count * context + 1));
    std::vector<std::int64_t> ends;
    std::span<std::int32_t> rest(tokens);
    SpanReader reader(source, vocabulary);
    for (const DocumentSpan& span : held_out.spans) {
        if (rest.empty()) break;
        RM_TRY(const std::int64_t read, reader.read(span, held_out.end, 0, rest));
        rest = rest.subspan(usize(read));
        ends.push_back((ends.empty() ? 0 : ends.back()) + span.tokens + (held_out.end ? 1 : 0));
    }
    std::vector<Sample> samples;
    for (std::int64_t i = 0; i < count; ++i) {
        samples.push_back(cut_sample(tokens, ends, i * context, context));
        if (kind == Documents::joined) join(samples.back());
    }
    return samples;
}

}  // namespace rm
