#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/safetensors.h"

namespace rm {

// The JSON of a safetensors header, as it stands there: entries in the text's order, offsets not
// yet judged against each other or the data. Read event by event: no tree is built, so the memory
// is that of the result, and nesting costs nothing.
struct SafetensorsJson {
    std::vector<SafetensorsEntry> entries;
    SafetensorsMetadata metadata;
};
Result<SafetensorsJson> parse_safetensors_json(std::string_view text);

}  // namespace rm
