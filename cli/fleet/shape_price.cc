#include "cli/fleet/shape_price.h"

#include <algorithm>

#include "cli/show/text.h"

namespace rm {
namespace {

std::string family_of(const std::string& shape) {
    return shape.substr(0, shape.find('.'));
}

// The first of the names that has a price: "l40s-48gb" begins with the kind L40S.
const Price* find_price(const Shape& shape, const PriceList& prices) {
    for (const std::string& name : {shape.name, family_of(shape.name), shape.gpu}) {
        const auto found = prices.find(name);
        if (found != prices.end()) return &found->second.price;
    }
    const std::string family = upper(family_of(shape.name));
    for (const auto& entry : prices) {
        const std::string kind = upper(entry.first);
        if (kind == upper(shape.gpu) || kind == family || family.starts_with(kind + "-"))
            return &entry.second.price;
    }
    return nullptr;
}

}  // namespace

MachinePrice price_of(const Shape& shape, const PriceList& prices) {
    const Price* price = find_price(shape, prices);
    if (price == nullptr || price->per_device_hour <= 0) return {};
    const int devices = std::max(shape.num_gpus, 1);
    return {.per_hour = devices * price->per_device_hour,
            .currency = price->currency,
            .basis = format(
                "{} per device and hour{}, {}", money_text(price->per_device_hour, price->currency),
                price->commitment.empty() ? "" : ", " + price->commitment, price->date)};
}

}  // namespace rm
