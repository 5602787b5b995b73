#include "engine/train/rank_config.h"

#include <nlohmann/json.hpp>

#include "engine/hf/directory.h"
#include "engine/hf/rope_json.h"
#include "engine/json/json_members.h"
#include "engine/json/parse_json.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

using nlohmann::json;

namespace {

// A multiple of 64 that holds all tokens.
Result<std::int64_t> vocabulary_for(const std::string& tokenizer_file) {
    constexpr std::int64_t kMultiple = 64;
    RM_TRY(const auto tokenizer, open_tokenizer(tokenizer_file));
    return (tokenizer->vocabulary() + kMultiple - 1) / kMultiple * kMultiple;
}

// The members that JSON holds as they are; the others are converted where they are read.
template <typename Visit>
void visit_members(Visit& visit, Like<ModelConfig> auto& m) {
    visit(Member{.name = "vocabulary"}, m.vocabulary);
    visit(Member{.name = "hidden"}, m.hidden);
    visit(Member{.name = "num_layers"}, m.num_layers);
    visit(Member{.name = "num_query_heads"}, m.num_query_heads);
    visit(Member{.name = "num_kv_heads"}, m.num_kv_heads);
    visit(Member{.name = "head_dim"}, m.head_dim);
    visit(Member{.name = "feed_forward"}, m.feed_forward);
    visit(Member{.name = "norm_eps"}, m.norm_eps);
    visit(Member{.name = "tied_head"}, m.tied_head);
    visit(Member{.name = "max_positions"}, m.max_positions);
}
template <typename Visit>
void visit_members(Visit& visit, Like<RankConfig> auto& config) {
    visit(Member{.name = "epoch"}, config.epoch.value);
    visit(Member{.name = "rank"}, config.rank);
    visit(Member{.name = "device_uuid"}, config.device_uuid);
    visit(Member{.name = "numa_node"}, config.numa_node);
    visit(Member{.name = "device_profile"}, config.device_profile);
    visit(Member{.name = "device_memory_bytes"}, config.device_memory);
    visit(Member{.name = "num_threads"}, config.num_threads);
    visit(Member{.name = "host_memory_bytes"}, config.host_memory);
    visit(Member{.name = "run_dir"}, config.run_dir);
    visit(Member{.name = "checkpoint_dir"}, config.checkpoint_dir);
    visit(Member{.name = "peak_flops"}, config.peak_flops);
    visit(Member{.name = "peak_name"}, config.peak_name);
    visit(Member{.name = "stop_after_steps"}, config.stop_after_steps);
}

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

Result<ModelConfig> architecture_of(const JobSpec& spec, const std::optional<ModelConfig>& given) {
    const std::string& from = spec.model.from;
    if (from.empty()) return given ? Result<ModelConfig>(*given) : find_preset(spec.model.preset);
    if (given) return invalid_argument("model.from: {} has its own sizes; none can be given", from);
    const auto config = read_hf_config(from);
    if (!config) return within("model.from", config.error());
    return config->model;
}

Result<ModelConfig> resolve_model(const JobSpec& spec, const std::optional<ModelConfig>& given) {
    RM_TRY(ModelConfig model, architecture_of(spec, given));
    const bool has_own_vocabulary = given || !spec.model.from.empty();
    if (has_own_vocabulary || spec.data.tokenizer == "bytes") return model;
    RM_TRY(model.vocabulary, vocabulary_for(spec.data.tokenizer));
    return model;
}

json plan_to_json(const Plan& plan) {
    return {{"mesh", mesh_to_json(plan.mesh)},
            {"zero", plan.zero},
            {"memory", members_to_json(plan.memory)},
            {"network", to_string(plan.network)},
            {"collective_timeout_seconds", plan.collective_timeout.value}};
}

Result<Plan> plan_from_json(const json& value) {
    Plan plan;
    JsonObject object(value, "plan");
    if (const json* mesh = object.member("mesh")) {
        RM_TRY(plan.mesh, mesh_from_json(*mesh, "plan.mesh"));
    }
    JsonReader reader(object);
    reader(Member{.name = "memory"}, plan.memory);
    reader(Member{.name = "network"}, plan.network);
    object.read("zero", plan.zero)
        .read("collective_timeout_seconds", plan.collective_timeout.value);
    RM_RETURN_IF_ERROR(object.finish());
    return plan;
}

json job_spec_to_json(const JobSpec& spec) {
    return members_to_json(spec);
}

Result<JobSpec> job_spec_from_json(const json& value) {
    JobSpec spec;
    JsonObject object(value, "");
    JsonReader reader(object);
    describe(reader, spec);
    RM_RETURN_IF_ERROR(object.finish());
    return spec;
}

json model_config_to_json(const ModelConfig& m) {
    json value = {{"rope", rope_parameters_to_json(m.rope)}};
    JsonWriter writer(value);
    visit_members(writer, m);
    return value;
}

Result<ModelConfig> model_config_from_json(const json& value, const std::string& path) {
    ModelConfig m;
    JsonObject object(value, path);
    JsonReader reader(object);
    visit_members(reader, m);
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

std::string to_json(const RankConfig& config) {
    json value = {{"spec", job_spec_to_json(config.spec)}, {"plan", plan_to_json(config.plan)}};
    value["device"] = to_string(config.device);
    JsonWriter writer(value);
    visit_members(writer, config);
    if (config.model) value["model"] = model_config_to_json(*config.model);
    return value.dump(2);
}

Result<RankConfig> parse_rank_config(std::string_view text) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    const Result<json> value = parse_strict_json(text, kMostBytes);
    if (!value) return invalid_argument("rank configuration: {}", value.error().message);
    RankConfig config;
    JsonObject object(*value, "");
    if (const json* spec = object.member("spec")) {
        RM_TRY(config.spec, job_spec_from_json(*spec));
    }
    if (const json* plan = object.member("plan")) {
        RM_TRY(config.plan, plan_from_json(*plan));
    }
    if (const json* model = object.member("model")) {
        RM_TRY(config.model, model_config_from_json(*model, "model"));
    }
    JsonReader reader(object);
    visit_members(reader, config);
    std::string device = "cpu";
    object.read("device", device);
    RM_RETURN_IF_ERROR(object.finish());
    const auto parsed = parse_rank_device(device);
    if (!parsed) return within("device", parsed.error());
    config.device = *parsed;
    return config;
}

}  // namespace rm
