#include "engine/train/model_json.h"

#include <nlohmann/json.hpp>

#include "engine/hf/rope_json.h"
#include "engine/json/json_object.h"

namespace rm {

using nlohmann::json;

namespace {

// The limits are far above any model, and products of a few sizes stay within 64 bits.
Status check_sizes(const ModelConfig& m, const std::string& path) {
    struct Size {
        const char* key;
        std::int64_t value;
        std::int64_t most;
    };
    constexpr std::int64_t kMillion = std::int64_t{1} << 20;
    for (const auto& [key, value, most] : {Size{"vocabulary", m.vocabulary, 16 * kMillion},
                                           {"hidden", m.hidden, kMillion},
                                           {"num_layers", m.num_layers, 10'000},
                                           {"num_query_heads", m.num_query_heads, 65'536},
                                           {"num_kv_heads", m.num_kv_heads, 65'536},
                                           {"head_dim", m.head_dim, 65'536},
                                           {"feed_forward", m.feed_forward, 16 * kMillion}}) {
        if (value >= 1 && value <= most) continue;
        return invalid_argument("{}.{}: {} must be 1 to {}", path, key, value, most);
    }
    if (m.norm_eps >= 0 && m.norm_eps < 1) return {};
    return invalid_argument("{}.norm_eps: {} must be from 0, below 1", path, m.norm_eps);
}

}  // namespace

json model_config_to_json(const ModelConfig& m) {
    return {{"vocabulary", m.vocabulary},      {"hidden", m.hidden},
            {"num_layers", m.num_layers},      {"num_query_heads", m.num_query_heads},
            {"num_kv_heads", m.num_kv_heads},  {"head_dim", m.head_dim},
            {"feed_forward", m.feed_forward},  {"norm_eps", m.norm_eps},
            {"tied_head", m.tied_head},        {"rope", rope_parameters_to_json(m.rope)},
            {"max_positions", m.max_positions}};
}

Result<ModelConfig> model_config_from_json(const json& value, const std::string& path) {
    ModelConfig m;
    JsonObject object(value, path);
    object.read("vocabulary", m.vocabulary)
        .read("hidden", m.hidden)
        .read("num_layers", m.num_layers)
        .read("num_query_heads", m.num_query_heads)
        .read("num_kv_heads", m.num_kv_heads)
        .read("head_dim", m.head_dim)
        .read("feed_forward", m.feed_forward)
        .read("norm_eps", m.norm_eps)
        .read("tied_head", m.tied_head)
        .read("max_positions", m.max_positions);
    const json* rope = object.member("rope");
    RM_RETURN_IF_ERROR(object.finish());
    RM_RETURN_IF_ERROR(check_sizes(m, path));
    if (m.num_query_heads % m.num_kv_heads != 0 || m.head_dim % 2 != 0) {
        return invalid_argument(
            "{}: num_kv_heads {} must divide num_query_heads {} and head_dim {} must be even", path,
            m.num_kv_heads, m.num_query_heads, m.head_dim);
    }
    if (rope == nullptr) return m;
    RM_TRY(m.rope, rope_parameters_from_json(*rope, path + ".rope", m.max_positions, m.head_dim));
    return m;
}

}  // namespace rm
