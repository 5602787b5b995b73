#pragma once

#include <vector>

#include "engine/streams/rank_streams.h"

namespace rm {

// A pass over one layer: backward, or again.
struct LayerVisit {
    int layer = 0;
    LayerPass pass = LayerPass::backward;
    bool operator==(const LayerVisit&) const = default;
};

// Groups of consecutive layers, of which only the first keeps its input between the passes
// (MemoryPolicy::keep_every). The backward pass goes over the groups from the last to the first and
// begins by running all layers of a group but its last again, which gives their inputs and
// whatever else the policy keeps. The last group needs no such run: the backward pass begins where
// the forward pass ends.
class LayerGroups {
public:
    LayerGroups(int num_layers, int every) : num_layers_(num_layers), every_(every) {}

    // Whether a layer keeps from the forward pass on what the policy says, or its input.
    bool keeps_all(int layer) const {
        return every_ == 1 || first_of(layer) == first_of(num_layers_ - 1);
    }
    // `layer` may be the number of layers: the head keeps the output of the last one for itself.
    bool keeps_input(int layer) const { return layer == first_of(layer) || keeps_all(layer); }

    std::vector<LayerVisit> backward() const;

private:
    int first_of(int layer) const { return layer / every_ * every_; }

    int num_layers_;
    int every_;
};

}  // namespace rm
