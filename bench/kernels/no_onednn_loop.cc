#include "bench/bench.h"

namespace rm::bench {

std::vector<Contender> onednn_product(std::int64_t, std::int64_t, std::int64_t, const Options&) {
    return {};
}
std::vector<Contender> onednn_weight_gradient(std::int64_t, std::int64_t, std::int64_t,
                                              const Options&) {
    return {};
}

}  // namespace rm::bench
