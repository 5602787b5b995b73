#include "engine/data/mixed_stream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "engine/json/json_object.h"

namespace rm {
namespace {

// Shares are whole numbers, so that every machine computes the same order.
constexpr double kWeightSum = 1 << 20;
constexpr std::uint64_t kPhaseStream = 0x6d6978;

std::vector<std::int64_t> weights_of(const std::vector<MixedStream::Part>& parts) {
    double sum = 0;
    for (const auto& part : parts)
        sum += part.proportion;
    std::vector<std::int64_t> weights;
    for (const auto& part : parts) {
        RM_CHECK(part.proportion > 0, "proportion {} of a mix", part.proportion);
        weights.push_back(
            std::max<std::int64_t>(1, std::llround(kWeightSum * part.proportion / sum)));
    }
    return weights;
}

std::int64_t sum_of(const std::vector<std::int64_t>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

}  // namespace

nlohmann::json to_json(const DataPosition& position) {
    nlohmann::json sources = nlohmann::json::array();
    for (const SourcePosition& source : position.sources) {
        nlohmann::json value = to_json(source.stream);
        value["samples"] = source.samples;
        value["weight"] = source.weight;
        sources.push_back(std::move(value));
    }
    return {{"sources", std::move(sources)}};
}

Result<DataPosition> data_position_from_json(const nlohmann::json& value) {
    DataPosition position;
    RM_TRY(const nlohmann::json* sources, list_at(value, "sources"));
    for (const nlohmann::json& item : *sources) {
        SourcePosition source;
        RM_TRY(source.stream, stream_position_from_json(item));
        JsonObject object = JsonObject::of_file(item);
        object.require("samples", source.samples).require("weight", source.weight);
        RM_RETURN_IF_ERROR(object.status());
        position.sources.push_back(source);
    }
    return position;
}

MixedStream::MixedStream(std::vector<Part> parts, std::uint64_t seed)
    : weights_(weights_of(parts)), samples_(parts.size()) {
    RM_CHECK(!parts.empty(), "a mix of nothing");
    const auto sum = static_cast<std::uint64_t>(sum_of(weights_));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        phases_.push_back(static_cast<std::int64_t>(random_at(seed, kPhaseStream, i) % sum));
        streams_.push_back(std::move(parts[i].stream));
    }
}

Status MixedStream::check_enough(std::int64_t context) const {
    for (const TokenStream& stream : streams_)
        RM_RETURN_IF_ERROR(stream.check_enough(context));
    return {};
}

std::size_t MixedStream::next_source() const {
    const std::int64_t sum = sum_of(weights_);
    const std::int64_t n = sum_of(samples_) + 1;
    std::size_t next = 0;
    std::int64_t furthest = 0;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const std::int64_t behind = phases_[i] + n * weights_[i] - samples_[i] * sum;
        if (i > 0 && behind <= furthest) continue;
        next = i;
        furthest = behind;
    }
    return next;
}

Result<Sample> MixedStream::next(std::int64_t context) {
    const std::size_t source = next_source();
    RM_TRY(Sample sample, streams_[source].next(context));
    ++samples_[source];
    return sample;
}

DataPosition MixedStream::position() const {
    DataPosition position;
    for (std::size_t i = 0; i < streams_.size(); ++i)
        position.sources.push_back({streams_[i].position(), samples_[i], weights_[i]});
    return position;
}

Status MixedStream::seek(const DataPosition& position) {
    constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;  // keeps next_source() exact
    const auto foreign = [&](std::string_view why) {
        return make_error(ErrorCode::failed_precondition, "position {} is not one of this mix: {}",
                          to_json(position).dump(), why);
    };
    if (position.sources.size() != streams_.size()) {
        return foreign(format("it has {} sources", streams_.size()));
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const SourcePosition& source = position.sources[i];
        if (source.weight != weights_[i]) {
            return foreign(
                format("source {} has weight {}: the proportions were others", i, weights_[i]));
        }
        if (source.samples < 0 || source.samples >= kMostSamples) {
            return foreign(format("{} samples of source {}", source.samples, i));
        }
    }
    std::vector<TokenStream*> moved;
    const DataPosition before = this->position();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const Status sought = streams_[i].seek(position.sources[i].stream);
        if (sought) continue;
        for (std::size_t j = 0; j < i; ++j)
            RM_CHECK(streams_[j].seek(before.sources[j].stream), "source {} lost its place", j);
        return sought;
    }
    for (std::size_t i = 0; i < streams_.size(); ++i)
        samples_[i] = position.sources[i].samples;
    return {};
}

}  // namespace rm
