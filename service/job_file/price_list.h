#pragma once

#include <string>

#include "service/job_file/yaml_fields.h"
#include "spec/cost/cost.h"

namespace rm {

// The parts of a Rates in a YAML file (docs/formats/prices.md). The target outlives the reader.
YamlReader read_price(Price& price);
YamlReader read_power(PowerFigures& power);

// The prices of devices, by kind (docs/formats/prices.md). Errors name file, place, key and what
// would be right.
Result<PriceList> read_price_list(const std::string& path);

}  // namespace rm
