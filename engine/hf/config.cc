#include "engine/hf/config.h"

#include <nlohmann/json.hpp>

#include <cmath>

#include "base/text.h"
#include "engine/hf/rope_json.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxConfigBytes = 4 << 20;

Status check_architecture(JsonObject& object) {
    std::string model_type, activation;
    object.require("model_type", model_type).require("hidden_act", activation);
    RM_RETURN_IF_ERROR(object.status());
    if (model_type != "llama") {
        return invalid_argument("model_type: {} is not supported; llama", shown_text(model_type));
    }
    const json* architectures = object.member("architectures");
    if (architectures != nullptr && *architectures != json::array({"LlamaForCausalLM"})) {
        return invalid_argument("architectures: {} is not supported; [\"LlamaForCausalLM\"]",
                                architectures->dump(-1, ' ', true).substr(0, 80));
    }
    if (activation != "silu") {
        return invalid_argument("hidden_act: {} is not supported; silu", shown_text(activation));
    }
    return {};
}

// Refuses each feature whose value differs from the one that turns it off.
Status refuse_features(JsonObject& object) {
    for (const char* key : {"attention_bias", "mlp_bias"}) {
        bool on = false;
        RM_RETURN_IF_ERROR(object.read(key, on).status());
        if (on) return invalid_argument("{}: true is not supported; false", key);
    }
    double dropout = 0, partial = 1;
    object.read("attention_dropout", dropout).read("partial_rotary_factor", partial);
    RM_RETURN_IF_ERROR(object.status());
    if (dropout != 0) return invalid_argument("attention_dropout: {} is not supported; 0", dropout);
    if (partial != 1) {
        return invalid_argument("partial_rotary_factor: {} is not supported; 1", partial);
    }
    if (object.member("quantization_config") != nullptr) {
        return invalid_argument("quantization_config: quantised weights are not supported");
    }
    return {};
}

struct Size {
    const char* key;
    std::int64_t* out;
    std::int64_t most;  // far above any model, so that products of sizes fit 63 bits
    bool required;
};

Status read_sizes(JsonObject& object, ModelConfig& m) {
    constexpr std::int64_t kMillion = 1 << 20;
    const Size sizes[] = {
        {"vocab_size", &m.vocabulary, 16 * kMillion, true},
        {"hidden_size", &m.hidden, kMillion, true},
        {"intermediate_size", &m.feed_forward, 16 * kMillion, true},
        {"num_hidden_layers", &m.num_layers, 4096, true},
        {"num_attention_heads", &m.num_query_heads, 4096, true},
        {"num_key_value_heads", &m.num_kv_heads, 4096, false},
        {"head_dim", &m.head_dim, 4096, false},
        {"max_position_embeddings", &m.max_positions, std::int64_t{1} << 40, true},
    };
    for (const Size& size : sizes) {
        if (size.required) object.require(size.key);
        RM_RETURN_IF_ERROR(object.read(size.key, *size.out).status());
        if (object.member(size.key) == nullptr) continue;
        if (*size.out >= 1 && *size.out <= size.most) continue;
        return invalid_argument("{}: {} must be from 1 to {}", size.key, *size.out, size.most);
    }
    return {};
}

Status complete_heads(ModelConfig& m) {
    if (m.num_kv_heads == 0) m.num_kv_heads = m.num_query_heads;
    if (m.num_query_heads % m.num_kv_heads != 0) {
        return invalid_argument("num_key_value_heads: {} does not divide num_attention_heads {}",
                                m.num_kv_heads, m.num_query_heads);
    }
    if (m.head_dim == 0) {
        if (m.hidden % m.num_query_heads != 0) {
            return invalid_argument(
                "head_dim: is missing, and num_attention_heads {} does not divide hidden_size {}",
                m.num_query_heads, m.hidden);
        }
        m.head_dim = m.hidden / m.num_query_heads;
    }
    if (m.head_dim % 2 == 0) return {};
    return invalid_argument("head_dim: {} is odd; rotary pairs need an even one", m.head_dim);
}

Result<ModelConfig> read_model(const json& config) {
    ModelConfig model;
    JsonObject object(config, "");
    RM_RETURN_IF_ERROR(object.status());
    RM_RETURN_IF_ERROR(check_architecture(object));
    RM_RETURN_IF_ERROR(refuse_features(object));
    RM_RETURN_IF_ERROR(read_sizes(object, model));
    RM_RETURN_IF_ERROR(complete_heads(model));
    object.require("rms_norm_eps", model.norm_eps).read("tie_word_embeddings", model.tied_head);
    RM_RETURN_IF_ERROR(object.status());
    if (!std::isfinite(model.norm_eps) || model.norm_eps < 0) {
        return invalid_argument("rms_norm_eps: {} must not be negative", model.norm_eps);
    }
    RM_TRY(model.rope, read_hf_rope(config, model.max_positions, model.head_dim));
    return model;
}

json fresh_config() {
    // The tokenizer is not known here; without these keys transformers would take 1 and 2.
    return {{"attention_dropout", 0.0},
            {"initializer_range", 0.02},
            {"use_cache", true},
            {"bos_token_id", nullptr},
            {"eos_token_id", nullptr}};
}

constexpr std::size_t kMaxIndexBytes = 64 << 20;

bool is_plain_shard_name(const std::string& file) {
    return file.ends_with(".safetensors") && file.find('/') == std::string::npos &&
           file.find('\\') == std::string::npos && !file.starts_with('.');
}

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text) {
    HfConfig config;
    RM_TRY(config.text, parse_strict_json(text, kMaxConfigBytes));
    RM_TRY(config.model, read_model(without_nulls(config.text)));
    return config;
}

json make_hf_config(const ModelConfig& model, const json& base, std::string_view torch_dtype) {
    json config = base.is_object() ? base : fresh_config();
    config["architectures"] = {"LlamaForCausalLM"};
    config["model_type"] = "llama";
    config["hidden_act"] = "silu";
    config["attention_bias"] = false;
    config["mlp_bias"] = false;
    config["vocab_size"] = model.vocabulary;
    config["hidden_size"] = model.hidden;
    config["intermediate_size"] = model.feed_forward;
    config["num_hidden_layers"] = model.num_layers;
    config["num_attention_heads"] = model.num_query_heads;
    config["num_key_value_heads"] = model.num_kv_heads;
    config["head_dim"] = model.head_dim;
    config["rms_norm_eps"] = model.norm_eps;
    config["tie_word_embeddings"] = model.tied_head;
    config["max_position_embeddings"] = model.max_positions;
    // The newer spelling only where the base uses it.
    const bool new_spelling = config.contains("dtype") && !config.contains("torch_dtype");
    config[new_spelling ? "dtype" : "torch_dtype"] = torch_dtype;
    if (!new_spelling) config.erase("dtype");
    write_hf_rope(model.rope, config);
    return config;
}

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
