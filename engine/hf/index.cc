#include "engine/hf/index.h"

#include <nlohmann/json.hpp>

#include "engine/data/shown_text.h"
#include "engine/data/strict_json.h"
#include "engine/train/json_object.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxIndexBytes = 64 << 20;

bool is_plain_shard_name(const std::string& file) {
    return file.ends_with(".safetensors") && file.find('/') == std::string::npos &&
           file.find('\\') == std::string::npos && !file.starts_with('.');
}

}  // namespace

Result<HfWeightMap> parse_hf_index(std::string_view text) {
    RM_TRY(const json value, parse_strict_json(text, kMaxIndexBytes));
    JsonObject object(value, "");
    object.require("weight_map");
    RM_RETURN_IF_ERROR(object.status());
    const json& map = *object.member("weight_map");
    if (!map.is_object() || map.empty()) {
        return invalid_argument("weight_map: must be an object of tensor names and files");
    }
    HfWeightMap weight_map;
    JsonObject members(map, "weight_map");
    for (const auto& [name, unused] : map.items()) {
        std::string& file = weight_map[name];
        RM_RETURN_IF_ERROR(members.read(name, file).status());
        if (is_plain_shard_name(file)) continue;
        return invalid_argument("weight_map {}: {} is not the name of a .safetensors file here",
                                shown_text(name), shown_text(file));
    }
    return weight_map;
}

std::string encode_hf_index(const HfWeightMap& weight_map, std::int64_t total_bytes) {
    const json value = {{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}};
    return value.dump(2) + "\n";
}

}  // namespace rm
