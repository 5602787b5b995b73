#include "engine/train/rank_config.h"

#include <nlohmann/json.hpp>

#include "engine/json/json_members.h"
#include "engine/json/parse_json.h"
#include "engine/train/model_json.h"

namespace rm {

using nlohmann::json;

json plan_to_json(const Plan& plan) {
    return {{"mesh", mesh_to_json(plan.mesh)},
            {"zero", plan.zero},
            {"memory", members_to_json(plan.memory)},
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

std::string to_json(const RankConfig& config) {
    json value = {{"spec", job_spec_to_json(config.spec)},
                  {"plan", plan_to_json(config.plan)},
                  {"epoch", config.epoch.value},
                  {"rank", config.rank},
                  {"num_threads", config.num_threads},
                  {"host_memory_bytes", config.host_memory.value},
                  {"run_dir", config.run_dir},
                  {"checkpoint_dir", config.checkpoint_dir},
                  {"peak_flops", config.peak_flops},
                  {"peak_name", config.peak_name},
                  {"stop_after_steps", config.stop_after_steps}};
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
    object.read("epoch", config.epoch.value)
        .read("rank", config.rank)
        .read("num_threads", config.num_threads)
        .read("host_memory_bytes", config.host_memory.value)
        .read("run_dir", config.run_dir)
        .read("checkpoint_dir", config.checkpoint_dir)
        .read("peak_flops", config.peak_flops)
        .read("peak_name", config.peak_name)
        .read("stop_after_steps", config.stop_after_steps);
    RM_RETURN_IF_ERROR(object.finish());
    return config;
}

}  // namespace rm
