#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/data/token_stream.h"

namespace rm {

// The position of one source of a mix.
struct SourcePosition {
    StreamPosition stream;
    std::int64_t samples = 0;  // taken from it
    std::int64_t weight = 0;   // its share of the mix; recorded because the order follows from it
    bool operator==(const SourcePosition&) const = default;
};

// A place in the training order; a job with one source is a mix of one.
struct DataPosition {
    std::vector<SourcePosition> sources;
    bool operator==(const DataPosition&) const = default;
};
nlohmann::json to_json(const DataPosition& position);
Result<DataPosition> data_position_from_json(const nlohmann::json& value);

// Mixes samples of several sources in proportion. The next sample is from the source furthest
// behind its share; the seed draws each source's head start, so that equal shares do not always
// start with the first. After n samples every source has given its share of n, within one sample
// per source. The order depends on shares and seed only, not on the mesh or on interruptions.
class MixedStream {
public:
    struct Part {
        TokenStream stream;
        double proportion;  // positive, relative to the sum
    };
    MixedStream(std::vector<Part> parts, std::uint64_t seed);

    // invalid_argument when one epoch of a source is shorter than one sample.
    Status check_enough(std::int64_t context) const;

    // An error leaves the position as it was.
    Result<Sample> next(std::int64_t context);

    DataPosition position() const;
    // Continues exactly; failed_precondition when the position is not one of this mix.
    Status seek(const DataPosition& position);

    const std::vector<std::int64_t>& weights() const { return weights_; }

private:
    std::size_t next_source() const;

    std::vector<TokenStream> streams_;
    std::vector<std::int64_t> weights_;
    std::vector<std::int64_t> phases_;   // head starts, below the sum of weights
    std::vector<std::int64_t> samples_;  // taken from each
};

}  // namespace rm
