#include "service/job_file/price_list.h"

#include <algorithm>

namespace rm {
namespace {

bool is_currency(const std::string& text) {
    return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char letter) {
               return letter >= 'A' && letter <= 'Z';
           });
}

}  // namespace

YamlReader read_price(Price& price) {
    return [&price](const YamlValue& value) -> Status {
        RM_RETURN_IF_ERROR(read_map(
            value, {{"per_device_hour", read_number(price.per_device_hour), Presence::required},
                    {"currency", read_text(price.currency), Presence::required},
                    {"date", read_text(price.date), Presence::required},
                    {"provider", read_text(price.provider)},
                    {"commitment", read_text(price.commitment)}}));
        if (!is_currency(price.currency))
            return value.error(
                format("currency '{}' must be three capital letters, such as USD", price.currency));
        if (price.per_device_hour > 0) return {};
        return value.error(
            format("per_device_hour is {}; it must be above 0", price.per_device_hour));
    };
}

YamlReader read_power(PowerFigures& power) {
    return [&power](const YamlValue& value) {
        return read_map(value,
                        {{"device_watts", read_number(power.device_watts), Presence::required},
                         {"host_watts", read_number(power.host_watts)},
                         {"pue", read_number(power.pue)},
                         {"grams_co2_per_kwh", read_number(power.grams_per_kwh)}});
    };
}

YamlReader read_rates(Rates& rates) {
    return [&rates](const YamlValue& value) -> Status {
        RM_RETURN_IF_ERROR(read_map(
            value, {{"price", read_price(rates.price)}, {"power", read_power(rates.power)}}));
        const Status checked = check_rates(rates);
        return checked ? Status() : value.error(checked.error().message);
    };
}

Result<PriceList> read_price_list(const std::string& path) {
    RM_TRY(const YamlNode root, read_yaml_file(path));
    if (root.kind != YamlNode::Kind::map || root.entries.empty())
        return error_at(path, root.place, "must be a map by kind of device: 'L40S: {price: ...}'");
    PriceList prices;
    std::vector<YamlField> kinds;
    for (const YamlEntry& entry : root.entries)
        kinds.push_back({entry.key, read_rates(prices[entry.key])});
    RM_RETURN_IF_ERROR(read_map({path, "", root, root.place}, kinds));
    return prices;
}

}  // namespace rm
