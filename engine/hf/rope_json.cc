#include "engine/hf/rope_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "engine/json/json_object.h"

namespace rm {
namespace {

using nlohmann::json;

// The values beside the object in config.json.
struct Surroundings {
    std::optional<double> theta;
    std::int64_t max_positions = 0;     // 0: not known
    std::int64_t original_context = 0;  // the config's own; 0: not given
    std::int64_t head_dim = 0;
};

class RopeReader {
public:
    RopeReader(const json& value, std::string path, const Surroundings& around)
        : path_(std::move(path)), around_(around), object_(value, path_) {}

    Result<RopeConfig> read();

private:
    Status read_type();
    Status read_theta();
    Status read_original();
    Status default_factor();
    void read_fields();
    template <typename... Args>
    Error error(std::string_view key, std::string_view pattern, const Args&... args) {
        return invalid_argument("{}: {}", object_.path_of(key), format(pattern, args...));
    }

    const std::string path_;
    const Surroundings& around_;
    JsonObject object_;
    RopeConfig rope_;
    std::optional<double> factor_;
};

Status RopeReader::read_type() {
    std::string type, old_type;
    object_.read("rope_type", type).read("type", old_type);
    RM_RETURN_IF_ERROR(object_.status());
    if (type.empty() && old_type.empty()) return error("rope_type", "is missing");
    if (type.empty()) type = old_type;
    const auto parsed = parse_rope_type(type);
    if (!parsed) {
        return error("rope_type",
                     "{} is not known; default, linear, dynamic, yarn, longrope or llama3",
                     shown_text(type));
    }
    if (!old_type.empty()) {
        const auto old = parse_rope_type(old_type);
        if (!old || *old != *parsed) {
            return error("rope_type", "{} and type {} disagree", shown_text(type),
                         shown_text(old_type));
        }
    }
    rope_.type = *parsed;
    return {};
}

Status RopeReader::read_theta() {
    std::optional<double> theta;
    object_.read("rope_theta", theta);
    RM_RETURN_IF_ERROR(object_.status());
    if (!theta && !around_.theta) {
        return error("rope_theta", "is missing, here and beside {}", path_);
    }
    if (theta && around_.theta && *theta != *around_.theta) {
        return error("rope_theta", "{} and the rope_theta {} beside it disagree", *theta,
                     *around_.theta);
    }
    rope_.theta = theta ? *theta : *around_.theta;
    return {};
}

Status RopeReader::read_original() {
    std::int64_t& original = rope_.original_context;
    object_.read("original_max_position_embeddings", original);
    RM_RETURN_IF_ERROR(object_.status());
    constexpr std::string_view kKey = "original_max_position_embeddings";
    if (rope_.type == RopeType::dynamic) {
        // The formula takes max_position_embeddings and ignores this value.
        if (original == 0) original = around_.max_positions;
        if (around_.max_positions == 0 || original == around_.max_positions) return {};
        return error(kKey, "{} and max_position_embeddings {} disagree; dynamic scaling takes one",
                     original, around_.max_positions);
    }
    if (original != 0 && around_.original_context != 0 && original != around_.original_context) {
        return error(kKey, "{} and the {} beside {} disagree", original, around_.original_context,
                     path_);
    }
    if (original == 0) original = around_.original_context;
    if (original == 0 && rope_.type == RopeType::llama3) return error(kKey, "is missing");
    if (original == 0) original = around_.max_positions;
    return {};
}

// yarn and longrope may omit the factor, which then is the ratio of the two lengths.
Status RopeReader::default_factor() {
    const bool from_lengths = rope_.type == RopeType::yarn || rope_.type == RopeType::longrope;
    // The factor never shrinks positions.
    const double ratio =
        std::max(1.0, static_cast<double>(around_.max_positions) /
                          static_cast<double>(std::max<std::int64_t>(1, rope_.original_context)));
    const bool lengths_known = around_.max_positions > 0 && rope_.original_context > 0;
    if (!factor_) {
        if (!from_lengths || !lengths_known) return error("factor", "is missing");
        rope_.factor = ratio;
        return {};
    }
    rope_.factor = *factor_;
    // transformers 4 takes the ratio, 5 the factor.
    if (rope_.type == RopeType::longrope && !rope_.attention_factor &&
        around_.original_context != 0 && lengths_known && ratio != *factor_) {
        return error("factor",
                     "{} and max_position_embeddings {} / original_max_position_embeddings {} "
                     "disagree; leave it out or give attention_factor",
                     *factor_, around_.max_positions, rope_.original_context);
    }
    return {};
}

void RopeReader::read_fields() {
    switch (rope_.type) {
        case RopeType::standard:
            break;
        case RopeType::linear:
        case RopeType::dynamic:
            object_.read("factor", factor_);
            break;
        case RopeType::yarn: {
            bool finetuned = false;  // in early YaRN models, without effect
            object_.read("factor", factor_)
                .read("attention_factor", rope_.attention_factor)
                .read("beta_fast", rope_.beta_fast)
                .read("beta_slow", rope_.beta_slow)
                .read("mscale", rope_.mscale)
                .read("mscale_all_dim", rope_.mscale_all_dim)
                .read("truncate", rope_.truncate)
                .read("finetuned", finetuned);
            break;
        }
        case RopeType::longrope:
            object_.require("short_factor", rope_.short_factor)
                .require("long_factor", rope_.long_factor)
                .read("factor", factor_)
                .read("attention_factor", rope_.attention_factor);
            break;
        case RopeType::llama3:
            object_.require("low_freq_factor", rope_.low_freq_factor)
                .require("high_freq_factor", rope_.high_freq_factor)
                .read("factor", factor_);
            break;
    }
}

Result<RopeConfig> RopeReader::read() {
    RM_RETURN_IF_ERROR(object_.status());
    RM_RETURN_IF_ERROR(read_type());
    RM_RETURN_IF_ERROR(read_theta());
    read_fields();
    if (rope_.type != RopeType::standard && rope_.type != RopeType::linear) {
        RM_RETURN_IF_ERROR(read_original());
    }
    double partial = 1;
    object_.read("partial_rotary_factor", partial);
    RM_RETURN_IF_ERROR(object_.finish());
    if (partial != 1) return error("partial_rotary_factor", "{} is not supported; 1", partial);
    if (rope_.type != RopeType::standard) RM_RETURN_IF_ERROR(default_factor());
    if (const Status valid = validate(rope_, around_.head_dim); !valid) {
        return invalid_argument("{}.{}", path_, valid.error().message);
    }
    return rope_;
}

Result<std::optional<RopeConfig>> read_member(const json& config, const std::string& key,
                                              const Surroundings& around) {
    const auto found = config.find(key);
    if (found == config.end()) return std::optional<RopeConfig>();
    const json object = without_nulls(*found);
    RM_TRY(const RopeConfig rope, RopeReader(object, key, around).read());
    return std::optional<RopeConfig>(rope);
}

}  // namespace

json without_nulls(const json& object) {
    json kept = object;
    if (!kept.is_object()) return kept;
    for (auto member = kept.begin(); member != kept.end();) {
        member = member->is_null() ? kept.erase(member) : std::next(member);
    }
    return kept;
}

Result<RopeConfig> read_hf_rope(const json& config, std::int64_t max_positions,
                                std::int64_t head_dim) {
    Surroundings around{.max_positions = max_positions, .head_dim = head_dim};
    JsonObject object(config, "");
    object.read("rope_theta", around.theta)
        .read("original_max_position_embeddings", around.original_context);
    RM_RETURN_IF_ERROR(object.status());
    RM_TRY(const std::optional<RopeConfig> scaling, read_member(config, "rope_scaling", around));
    RM_TRY(const std::optional<RopeConfig> parameters,
           read_member(config, "rope_parameters", around));
    if (scaling && parameters && *scaling != *parameters) {
        return invalid_argument("rope_parameters: disagrees with rope_scaling; keep one of them");
    }
    if (scaling) return *scaling;
    if (parameters) return *parameters;
    if (!around.theta) {
        return invalid_argument(
            "rope_theta: is missing; the base is never guessed (Llama 2 was trained with 10000)");
    }
    const RopeConfig plain{.theta = *around.theta};
    RM_RETURN_IF_ERROR(validate(plain, head_dim));
    return plain;
}

Result<RopeConfig> rope_parameters_from_json(const json& value, const std::string& path,
                                             std::int64_t max_positions, std::int64_t head_dim) {
    const Surroundings around{.max_positions = max_positions, .head_dim = head_dim};
    return RopeReader(value, path, around).read();
}

json rope_parameters_to_json(const RopeConfig& rope) {
    json value = {{"rope_type", to_string(rope.type)}, {"rope_theta", rope.theta}};
    if (rope.type == RopeType::standard) return value;
    value["factor"] = rope.factor;
    if (rope.type == RopeType::linear) return value;
    value["original_max_position_embeddings"] = rope.original_context;
    if (rope.attention_factor) value["attention_factor"] = *rope.attention_factor;
    if (rope.type == RopeType::yarn) {
        value["beta_fast"] = rope.beta_fast;
        value["beta_slow"] = rope.beta_slow;
        value["truncate"] = rope.truncate;
        if (rope.mscale != 0) {
            value["mscale"] = rope.mscale;
            value["mscale_all_dim"] = rope.mscale_all_dim;
        }
    } else if (rope.type == RopeType::longrope) {
        value["short_factor"] = rope.short_factor;
        value["long_factor"] = rope.long_factor;
    } else if (rope.type == RopeType::llama3) {
        value["low_freq_factor"] = rope.low_freq_factor;
        value["high_freq_factor"] = rope.high_freq_factor;
    }
    return value;
}

void write_hf_rope(const RopeConfig& rope, json& config) {
    config.erase("rope_parameters");
    config.erase("original_max_position_embeddings");
    config["rope_theta"] = rope.theta;
    config["rope_scaling"] = nullptr;
    if (rope.type == RopeType::standard) return;
    json scaling = rope_parameters_to_json(rope);
    scaling.erase("rope_theta");
    if (rope.type == RopeType::dynamic) scaling.erase("original_max_position_embeddings");
    if (rope.type == RopeType::longrope) {
        // transformers 4 looks for the length here only.
        config["original_max_position_embeddings"] = rope.original_context;
    }
    config["rope_scaling"] = std::move(scaling);
}

}  // namespace rm
