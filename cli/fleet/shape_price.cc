#include "cli/fleet/shape_price.h"

#include <algorithm>

#include "cli/show/text.h"

namespace rm {
namespace {

// The list's kind of device whose name the shape's begins with ("l40s-48gb": L40S), or else what
// Crusoe calls the GPU.
std::string kind_of(const Shape& shape, const PriceList& prices) {
    const std::string family = upper(family_of(shape.name));
    for (const auto& entry : prices) {
        const std::string kind = upper(entry.first);
        if (kind == upper(shape.gpu) || kind == family || family.starts_with(kind + "-"))
            return entry.first;
    }
    return shape.gpu;
}

}  // namespace

MachinePrice price_of(const Shape& shape, const PriceList& prices) {
    const Price price = rates_of(prices, kind_of(shape, prices), shape.name).price;
    if (price.per_device_hour <= 0) return {};
    const int devices = std::max(shape.num_gpus, 1);
    return {.per_hour = devices * price.per_device_hour,
            .currency = price.currency,
            .basis = format("{} per device and hour{}, {}",
                            money_text(price.per_device_hour, price.currency),
                            price.commitment.empty() ? "" : ", " + price.commitment, price.date)};
}

}  // namespace rm
