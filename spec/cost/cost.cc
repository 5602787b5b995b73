#include "spec/cost/cost.h"

#include "base/text.h"

namespace rm {
namespace {

// With two digits, and four below 1.
std::string amount_text(double amount) {
    if (amount < 1) return format("{:.4}", amount);
    return amount < 100 ? format("{:.2}", amount) : format("{:.1}", amount);
}

// At the meter of the devices and their machines.
double machine_kwh(const PowerFigures& power, double device_hours, double joules) {
    const double devices =
        joules > 0 ? joules / kJoulesPerKwh : device_hours * power.device_watts / 1000;
    return devices > 0 ? devices + device_hours * power.host_watts / 1000 : 0;
}

}  // namespace

std::string family_of(const std::string& shape) {
    return shape.substr(0, shape.find('.'));
}

Rates rates_of(const PriceList& prices, const std::string& kind, const std::string& shape) {
    for (const std::string& name : {shape, family_of(shape), kind}) {
        const auto found = prices.find(name);
        if (found != prices.end()) return found->second;
    }
    return {};
}

RunCost cost_of(const Rates& rates, int devices, Seconds time, double joules) {
    const double device_hours = devices * time.value / 3600;
    const PowerFigures& power = rates.power;
    RunCost cost{.time = time,
                 .money = device_hours * rates.price.per_device_hour,
                 .currency = rates.price.currency};
    cost.kwh = machine_kwh(power, device_hours, joules) * power.pue;
    cost.kg_co2 = cost.kwh * power.grams_per_kwh / 1000;
    return cost;
}

void add_cost(RunCost& to, const RunCost& cost) {
    if (to.currency.empty()) to.currency = cost.currency;
    if (to.currency == cost.currency) to.money += cost.money;
    to.time = to.time + cost.time;
    to.kwh += cost.kwh;
    to.kg_co2 += cost.kg_co2;
}

std::string money_text(double money, const std::string& currency) {
    return currency.empty()
               ? ""
               : format("{} {}", money < 1 ? format("{:.4}", money) : format("{:.2}", money),
                        currency);
}

std::string to_string(const RunCost& cost) {
    std::string text = money_text(cost.money, cost.currency);
    const auto add = [&text](double amount, std::string_view unit) {
        if (amount > 0)
            text += format("{}{} {}", text.empty() ? "" : ", ", amount_text(amount), unit);
    };
    add(cost.kwh, "kWh");
    add(cost.kg_co2, "kg of CO2");
    return text;
}

Status check_rates(const Rates& rates) {
    const auto check = [](const char* name, double value, double least) -> Status {
        if (value >= least) return {};
        return invalid_argument("{}: {} must be {} or more", name, value, least);
    };
    RM_RETURN_IF_ERROR(check("per_device_hour", rates.price.per_device_hour, 0));
    RM_RETURN_IF_ERROR(check("device_watts", rates.power.device_watts, 0));
    RM_RETURN_IF_ERROR(check("host_watts", rates.power.host_watts, 0));
    RM_RETURN_IF_ERROR(check("grams_co2_per_kwh", rates.power.grams_per_kwh, 0));
    return check("pue", rates.power.pue, 1);
}

}  // namespace rm
