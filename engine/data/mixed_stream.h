#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/data/token_stream.h"

namespace rm {

// Where one source of a mix stands.
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

// Samples of several sources in proportion. The next sample comes from the source that is furthest
// behind its share; where each stands at the beginning is drawn from the seed, so that equal shares
// do not always start with the first. After n samples every source has given its share of n, within
// one for each source there is. The order depends on shares and seed only: not on the mesh, nor on
// where it was interrupted.
class MixedStream {
public:
    struct Part {
        TokenStream stream;
        double proportion;  // positive, relative to the sum
    };
    MixedStream(std::vector<Part> parts, std::uint64_t seed);

    // invalid_argument when one epoch of a source is shorter than one sample.
    Status check_enough(std::int64_t context) const;

    // After an error the position is what it was.
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
