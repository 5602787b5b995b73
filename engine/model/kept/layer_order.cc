#include "engine/model/kept/layer_order.h"

namespace rm {

std::vector<LayerVisit> LayerGroups::backward() const {
    std::vector<LayerVisit> visits;
    for (int last = num_layers_ - 1; last >= 0; last = first_of(last) - 1) {
        const int first = first_of(last);
        for (int layer = first; layer < last && !keeps_all(layer); ++layer)
            visits.push_back({layer, LayerPass::again});
        for (int layer = last; layer >= first; --layer)
            visits.push_back({layer, LayerPass::backward});
    }
    return visits;
}

}  // namespace rm
