#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "engine/model/weight_state.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// The master weights of a model, to be read once, from the first parameter to the last.
class WeightSource {
public:
    virtual ~WeightSource() = default;
    virtual const ParameterTable& table() const = 0;

    // `block`: host memory of f32 or f64, one dim: elements of the whole, row-major, from `first`
    // on.
    using Visitor = std::function<Status(std::int64_t first, const TensorView& block)>;
    // Parameters must be read in the table's order, each once; the first error of a visitor ends
    // it.
    virtual Status read(int parameter, const Visitor& visit) = 0;
};

// Assembles the master weights from every rank's part on rank 0, parameter by parameter and block
// by block. Exact: sums owned elements with zeros, as integers. Collective: while rank 0 reads, the
// others serve. Called by the host while no work is queued.
class WholeWeights final : public WeightSource {
public:
    // `streams`: null for a single rank.
    WholeWeights(const RankStreams* streams, const WeightState& state);
    WholeWeights(const WholeWeights&) = delete;
    WholeWeights& operator=(const WholeWeights&) = delete;
    // On rank 0: takes part in the blocks that were not read, so that no rank is left waiting.
    void finish();
    // On every other rank: until rank 0 has finished.
    void serve() { finish(); }

    const ParameterTable& table() const override { return state_.table(); }

    Status read(int parameter, const Visitor& visit) override;

private:
    template <typename T>
    void fill(int parameter, std::int64_t first, std::int64_t count);
    TensorView next_block(int parameter, std::int64_t first);

    const RankStreams* streams_;
    const WeightState& state_;
    DType dtype_;
    Device& device_;                // of what the ranks exchange
    Tensor block_;                  // (kBlockElements) master: summed over the ranks
    std::vector<std::byte> host_;   // the same
    std::vector<std::byte> piece_;  // of one piece
    int next_parameter_ = 0;
    std::int64_t next_element_ = 0;
};

}  // namespace rm
