#include "engine/run/first_nonfinite.h"

#include <array>
#include <cmath>
#include <vector>

#include "engine/model/nonfinite.h"
#include "kernels/host_blocks.h"

namespace rm {
namespace {

// In the order in which a step uses them.
enum class Kind { weight, residual, gradient, none };

// A rank's finding, as numbers that can be summed over ranks.
struct Finding {
    Kind kind = Kind::none;
    int place = 0;  // weight: the parameter; residual: the layer; gradient: backward from the last
    std::int64_t element = 0;  // of the whole parameter, or of this rank's residual stream
    double value = 0;

    bool before(const Finding& other) const {
        return kind != other.kind ? kind < other.kind : place < other.place;
    }
};
constexpr std::int64_t kNumbers = 5;
using Numbers = std::array<double, kNumbers>;

// NaN would spread to what the others found, so it travels as a sign.
Numbers to_numbers(const Finding& f) {
    const double sign = std::isnan(f.value) ? 0 : f.value > 0 ? 1 : -1;
    return {static_cast<double>(f.kind), static_cast<double>(f.place),
            static_cast<double>(f.element >> 32), static_cast<double>(f.element & 0xffffffff),
            sign};
}

Finding from_numbers(const Numbers& n) {
    const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
    return {static_cast<Kind>(whole(n[0])), static_cast<int>(whole(n[1])),
            whole(n[2]) << 32 | whole(n[3]), n[4] == 0 ? std::nan("") : n[4] * INFINITY};
}

class Search {
public:
    Search(RankEngine& engine, const StepBatch& batch)
        : engine_(engine), batch_(batch), blocks_(engine.state().device()) {}

    std::string run() {
        look_at_weights();
        look_at_residual();
        look_at_gradients();
        return agree();
    }

private:
    int num_parameters() const { return static_cast<int>(std::ssize(engine_.state().table().all)); }
    void note(const Finding& finding) {
        if (finding.before(mine_)) mine_ = finding;
    }

    void look_at(const StatePiece& piece, const TensorView& tensor, Kind kind, int place) {
        if (tensor.empty()) return;
        const Status looked =
            blocks_.read(tensor, [&](std::int64_t first, const TensorView& block) -> Status {
                const auto found = find_nonfinite(block);
                if (!found) return {};
                const Parameter& p = engine_.state().parameter(piece.parameter);
                note({kind, place, p.whole_index(piece.first + first + found->element),
                      found->value});
                return invalid_argument("found");  // ends the reading
            });
        static_cast<void>(looked);
    }
    void look_at_weights() {
        for (const StatePiece& piece : engine_.state().owned())
            look_at(piece, piece.weight, Kind::weight, piece.parameter);
    }
    // Backward forms those of the last parameters first.
    void look_at_gradients() {
        for (const StatePiece& piece : engine_.state().owned())
            look_at(piece, piece.grad, Kind::gradient, num_parameters() - piece.parameter);
    }

    // Looks as the compute stream passes each layer.
    void look_at_residual() {
        Device& device = engine_.streams().kernels.device();
        Stream& compute = engine_.streams().compute;
        std::vector<std::byte> host;
        engine_.model().watch_residual([&](int layer, const TensorView& x) {
            host.resize(usize(x.num_bytes().value));
            device.download(x, host.data(), compute);
            compute.call_host("look at residual", [this, layer, x, &host] {
                const TensorView copy(host.data(), x.dtype(), {x.num_elements()});
                if (const auto found = find_nonfinite(copy))
                    note({Kind::residual, layer, found->element, found->value});
            });
        });
        engine_.trainer().losses(batch_);
        engine_.model().watch_residual({});
    }

    // The first of all ranks' findings.
    std::string agree() {
        const RankStreams& streams = engine_.streams();
        const auto ranks = usize(streams.communicator.group(GroupKey::world).size());
        const auto me = usize(engine_.spec().rank);
        std::vector<Numbers> all(ranks, Numbers{});
        all[me] = to_numbers(mine_);
        Device& device = streams.kernels.device();
        const Tensor sum(device, MemoryKind::communication, DType::f64,
                         {static_cast<std::int64_t>(ranks), kNumbers});
        device.write(all.data(), sum);
        streams.communicator.all_reduce_sum(GroupKey::world, sum);
        streams.communication.synchronize();
        device.read(sum, all.data());
        std::size_t first = 0;
        for (std::size_t rank = 1; rank < ranks; ++rank) {
            if (from_numbers(all[rank]).before(from_numbers(all[first]))) first = rank;
        }
        return describe(from_numbers(all[first]), static_cast<int>(first));
    }

    std::string describe(const Finding& f, int rank) const {
        const std::string value = format("{}", f.value);
        switch (f.kind) {
            case Kind::weight:
                return format("the weight {} is {}", element_text(f.place, f.element), value);
            case Kind::residual:
                return residual_text(f, rank, value);
            case Kind::gradient:
                return format("weights and activations are finite, the gradient of {} is {}",
                              element_text(num_parameters() - f.place, f.element), value);
            case Kind::none:
                break;
        }
        return "no weight, residual stream or gradient that is still there is not finite";
    }
    std::string element_text(int parameter, std::int64_t element) const {
        const Parameter& p = engine_.state().parameter(parameter);
        return p.name + coordinates_text(element, p.shape);
    }
    std::string residual_text(const Finding& f, int rank, const std::string& value) const {
        const std::int64_t hidden = engine_.spec().model.hidden;
        const std::string where =
            f.place == 0 ? "output of model.embed_tokens"
                         : format("residual stream behind model.layers.{}", f.place - 1);
        return format(
            "all weights are finite, the first activation that is not is the {}: token {} of rank "
            "{}, channel {} is {}",
            where, f.element / hidden, rank, f.element % hidden, value);
    }

    RankEngine& engine_;
    const StepBatch& batch_;
    HostBlocks blocks_;
    Finding mine_;
};

}  // namespace

std::string first_nonfinite(RankEngine& engine, const StepBatch& batch) {
    return Search(engine, batch).run();
}

}  // namespace rm
