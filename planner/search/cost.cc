#include "planner/search/cost.h"

namespace rm {

RunCost cost_of(const Rates& rates, int devices, Seconds time) {
    const double device_hours = devices * time.value / 3600;
    const PowerFigures& power = rates.power;
    const double watts = power.device_watts > 0 ? power.device_watts + power.host_watts : 0;
    RunCost cost{.time = time, .money = device_hours * rates.price.per_device_hour};
    cost.kwh = device_hours * watts * power.pue / 1000;
    cost.kg_co2 = cost.kwh * power.grams_per_kwh / 1000;
    return cost;
}

Status check_rates(const Rates& rates) {
    const auto check = [](const char* name, double value, double least) -> Status {
        if (value >= least) return {};
        return invalid_argument("{}: {} must be {} or more", name, value, least);
    };
    RM_RETURN_IF_ERROR(check("per_device_hour", rates.price.per_device_hour, 0));
    RM_RETURN_IF_ERROR(check("device_watts", rates.power.device_watts, 0));
    RM_RETURN_IF_ERROR(check("host_watts", rates.power.host_watts, 0));
    RM_RETURN_IF_ERROR(check("grams_per_kwh", rates.power.grams_per_kwh, 0));
    return check("pue", rates.power.pue, 1);
}

}  // namespace rm
