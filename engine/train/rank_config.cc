#include "engine/train/rank_config.h"

#include <nlohmann/json.hpp>

#include "base/mesh_key.h"
#include "engine/train/json_object.h"
#include "engine/train/model_json.h"

namespace rm {

using nlohmann::json;

namespace {

json mesh_to_json(const Mesh& mesh) {
    json value;
    for (const Axis axis : kAxes)
        value[std::string(to_string(axis))] = mesh.size(axis);
    if (mesh.outer_ring() > 1) value["inner_ring"] = mesh.inner_ring();
    return value;
}

// Reads the members that are a mesh's.
class MeshMembers {
public:
    explicit MeshMembers(JsonObject& object) {
        for (const Axis axis : kAxes)
            object.read(to_string(axis), sizes_[static_cast<std::size_t>(axis)]);
        object.read("inner_ring", inner_ring_);
    }
    // Errors name members of the object at `path`.
    Result<Mesh> make(std::string_view path) const {
        Result<Mesh> mesh = Mesh::make(sizes_[0], sizes_[1], sizes_[2], sizes_[3], inner_ring_);
        if (!mesh) return under_key(mesh.error(), path);
        return mesh;
    }

private:
    std::array<int, 4> sizes_ = {1, 1, 1, 1};
    int inner_ring_ = 0;
};

Result<Mesh> mesh_from_json(const json& value, const std::string& path) {
    JsonObject object(value, path);
    const MeshMembers mesh(object);
    RM_RETURN_IF_ERROR(object.finish());
    return mesh.make(path);
}

json parallel_to_json(const JobSpec& spec) {
    json value = spec.parallel ? mesh_to_json(*spec.parallel) : json::object();
    value["zero"] = spec.zero;
    return value;
}

// A mesh and the ZeRO stage; the stage alone leaves the mesh automatic.
Status read_parallel(const json& value, JobSpec& spec) {
    JsonObject object(value, "parallel");
    object.read("zero", spec.zero);
    const MeshMembers mesh(object);
    RM_RETURN_IF_ERROR(object.finish());
    if (value.size() == 1 && value.contains("zero")) return {};
    RM_TRY(spec.parallel, mesh.make("parallel"));
    return {};
}

// A member that is one of an enum's words.
template <typename E>
void read_word(JsonObject& object, std::string_view key, E& target,
               Result<E> (*parse)(std::string_view)) {
    std::string word(to_string(target));
    object.read(key, word);
    const Result<E> parsed = parse(word);
    if (parsed) {
        target = *parsed;
    } else {
        object.keep(invalid_argument("{}: {}", object.path_of(key), parsed.error().message));
    }
}

json stage_to_json(const StageSpec& s) {
    return {{"context", s.context},
            {"batch", s.batch},
            {"tokens", s.tokens},
            {"rope_theta", s.rope_theta},
            {"learning_rate", s.learning_rate},
            {"warmup_steps", s.warmup_steps},
            {"schedule", to_string(s.schedule)},
            {"final_learning_rate", s.final_learning_rate}};
}

Result<StageSpec> stage_from_json(const json& value, const std::string& path) {
    StageSpec s;
    JsonObject object(value, path);
    object.read("context", s.context)
        .read("batch", s.batch)
        .read("tokens", s.tokens)
        .read("rope_theta", s.rope_theta)
        .read("learning_rate", s.learning_rate)
        .read("warmup_steps", s.warmup_steps)
        .read("final_learning_rate", s.final_learning_rate);
    read_word(object, "schedule", s.schedule, parse_schedule);
    RM_RETURN_IF_ERROR(object.finish());
    return s;
}

// Reads one nested object with `fill`, which names its members.
template <typename Fill>
void read_part(JsonObject& parent, std::string_view key, Fill fill) {
    const json* found = parent.member(key);
    if (found == nullptr) return;
    JsonObject part(*found, parent.path_of(key));
    fill(part);
    parent.keep(part.finish());
}

// "path": one source or an array of them, each "path" or "path@proportion".
void read_sources(JsonObject& object, std::vector<DataSource>& sources) {
    const json* found = object.member("path");
    if (found == nullptr) return;
    for (const json& item : found->is_array() ? *found : json::array({*found})) {
        if (!item.is_string()) {
            object.keep(invalid_argument("{}: {}; texts such as \"path\" or \"path@0.5\"",
                                         object.path_of("path"), item.dump()));
            return;
        }
        Result<DataSource> source = parse_data_source(item.get<std::string>());
        object.keep(source ? Status() : Status(source.error()));
        if (source) sources.push_back(*std::move(source));
    }
}

json sources_to_json(const std::vector<DataSource>& sources) {
    json value = json::array();
    for (const DataSource& source : sources)
        value.push_back(to_string(source));
    return value;
}

// "placement": an array of {"node", "device"}, by rank.
void read_placement(JsonObject& object, std::vector<DeviceId>& placement) {
    const json* found = object.member("placement");
    if (found == nullptr) return;
    if (!found->is_array()) {
        object.keep(
            invalid_argument("{}: {}; an array of objects such as {{\"node\": \"a\", "
                             "\"device\": 0}}",
                             object.path_of("placement"), found->dump()));
        return;
    }
    for (const json& item : *found) {
        JsonObject device(item, object.path_of(format("placement[{}]", placement.size())));
        DeviceId& id = placement.emplace_back();
        device.read("node", id.node.value).read("device", id.index);
        object.keep(device.finish());
    }
}

json placement_to_json(const std::vector<DeviceId>& placement) {
    json value = json::array();
    for (const DeviceId& device : placement)
        value.push_back({{"node", device.node.value}, {"device", device.index}});
    return value;
}

// A size as the job file spells it; absent: nothing.
void read_bytes(JsonObject& object, std::string_view key, std::optional<Bytes>& target) {
    std::string text;
    if (object.read(key, text).member(key) == nullptr) return;
    const Result<Bytes> bytes = parse_bytes(text);
    if (bytes) {
        target = *bytes;
    } else {
        object.keep(invalid_argument("{}: {}", object.path_of(key), bytes.error().message));
    }
}

json memory_to_json(const MemorySpec& memory) {
    json value = {{"tile", memory.tile},
                  {"chunk", memory.chunk},
                  {"keep", to_string(memory.keep)},
                  {"offload", to_string(memory.offload)},
                  {"windows", to_string(memory.windows)},
                  {"prefetch", memory.prefetch},
                  {"arena", to_string(memory.arena)}};
    if (memory.alpha) value["alpha"] = *memory.alpha;
    if (memory.device) value["device"] = exact_text(*memory.device);
    if (memory.host) value["host"] = exact_text(*memory.host);
    return value;
}

void read_memory(JsonObject& object, MemorySpec& memory) {
    object.read("tile", memory.tile)
        .read("chunk", memory.chunk)
        .read("alpha", memory.alpha)
        .read("prefetch", memory.prefetch);
    read_word(object, "keep", memory.keep, parse_keep_or_auto);
    read_word(object, "offload", memory.offload, parse_switch);
    read_word(object, "windows", memory.windows, parse_switch);
    read_word(object, "arena", memory.arena, parse_arena_reuse);
    read_bytes(object, "device", memory.device);
    read_bytes(object, "host", memory.host);
}

json data_to_json(const DataSpec& data) {
    return {{"path", sources_to_json(data.sources)},
            {"format", data.format},
            {"tokenizer", data.tokenizer},
            {"holdout", data.holdout},
            {"documents", to_string(data.documents)},
            {"positions", to_string(data.positions)}};
}

void read_data(JsonObject& object, DataSpec& data) {
    read_sources(object, data.sources);
    object.read("format", data.format)
        .read("tokenizer", data.tokenizer)
        .read("holdout", data.holdout);
    read_word(object, "documents", data.documents, parse_documents);
    read_word(object, "positions", data.positions, parse_positions);
}

json optimizer_to_json(const OptimizerSpec& optimizer) {
    return {{"beta1", optimizer.beta1},
            {"beta2", optimizer.beta2},
            {"eps", optimizer.eps},
            {"weight_decay", optimizer.weight_decay},
            {"clip_norm", optimizer.clip_norm},
            {"place", to_string(optimizer.place)},
            {"moments", optimizer.moments},
            {"max_skipped", optimizer.max_skipped}};
}

void read_optimizer(JsonObject& object, OptimizerSpec& optimizer) {
    object.read("beta1", optimizer.beta1)
        .read("beta2", optimizer.beta2)
        .read("eps", optimizer.eps)
        .read("weight_decay", optimizer.weight_decay)
        .read("clip_norm", optimizer.clip_norm)
        .read("moments", optimizer.moments)
        .read("max_skipped", optimizer.max_skipped);
    read_word(object, "place", optimizer.place, parse_optimizer_place);
}

void read_parts(JsonObject& object, JobSpec& spec) {
    read_part(object, "model", [&](JsonObject& o) {
        o.read("preset", spec.model.preset).read("from", spec.model.from);
    });
    read_part(object, "data", [&](JsonObject& o) { read_data(o, spec.data); });
    read_part(object, "memory", [&](JsonObject& o) { read_memory(o, spec.memory); });
    read_part(object, "optimizer", [&](JsonObject& o) { read_optimizer(o, spec.optimizer); });
    read_part(object, "resources", [&](JsonObject& o) {
        o.read("devices", spec.resources.devices).read("kind", spec.resources.kind);
        read_placement(o, spec.resources.placement);
    });
    read_part(object, "checkpoint", [&](JsonObject& o) {
        o.read("dir", spec.checkpoint.dir)
            .read("every_steps", spec.checkpoint.every_steps)
            .read("every_seconds", spec.checkpoint.every.value)
            .read("keep", spec.checkpoint.keep)
            .read("from", spec.checkpoint.from);
    });
    read_part(object, "evaluation", [&](JsonObject& o) {
        o.read("every_steps", spec.evaluation.every_steps).read("tokens", spec.evaluation.tokens);
    });
    read_part(object, "export",
              [&](JsonObject& o) { o.read("huggingface", spec.exports.huggingface); });
    read_part(object, "retry", [&](JsonObject& o) {
        o.read("max", spec.retry.max).read("lost_after_seconds", spec.retry.lost_after.value);
    });
    object.read("priority", spec.priority);
}

Status read_stages(JsonObject& object, JobSpec& spec) {
    const json* stages = object.member("stages");
    if (stages == nullptr) return {};
    if (!stages->is_array()) return invalid_argument("stages: an array of objects is expected");
    for (std::size_t i = 0; i < stages->size(); ++i) {
        RM_TRY(StageSpec stage, stage_from_json((*stages)[i], format("stages[{}]", i)));
        spec.stages.push_back(stage);
    }
    return {};
}

json policy_to_json(const MemoryPolicy& policy) {
    return {{"tile_tokens", policy.tile_tokens},   {"chunk_tokens", policy.chunk_tokens},
            {"keep", to_string(policy.keep)},      {"alpha", policy.alpha},
            {"kept", to_string(policy.kept)},      {"working", to_string(policy.working)},
            {"prefetch", policy.prefetch},         {"arena", to_string(policy.reuse)},
            {"device_bytes", policy.device.value}, {"host_bytes", policy.host.value}};
}

void read_policy(JsonObject& object, MemoryPolicy& policy) {
    object.read("tile_tokens", policy.tile_tokens)
        .read("chunk_tokens", policy.chunk_tokens)
        .read("alpha", policy.alpha)
        .read("prefetch", policy.prefetch)
        .read("device_bytes", policy.device.value)
        .read("host_bytes", policy.host.value);
    read_word(object, "keep", policy.keep, parse_keep);
    read_word(object, "kept", policy.kept, parse_kept_place);
    read_word(object, "working", policy.working, parse_working_set);
    read_word(object, "arena", policy.reuse, parse_arena_reuse);
}

}  // namespace

json plan_to_json(const Plan& plan) {
    return {{"mesh", mesh_to_json(plan.mesh)},
            {"zero", plan.zero},
            {"memory", policy_to_json(plan.memory)},
            {"collective_timeout_seconds", plan.collective_timeout.value}};
}

Result<Plan> plan_from_json(const json& value) {
    Plan plan;
    JsonObject object(value, "plan");
    if (const json* mesh = object.member("mesh")) {
        RM_TRY(plan.mesh, mesh_from_json(*mesh, "plan.mesh"));
    }
    read_part(object, "memory", [&](JsonObject& o) { read_policy(o, plan.memory); });
    object.read("zero", plan.zero)
        .read("collective_timeout_seconds", plan.collective_timeout.value);
    RM_RETURN_IF_ERROR(object.finish());
    return plan;
}

json job_spec_to_json(const JobSpec& spec) {
    json stages = json::array();
    for (const StageSpec& stage : spec.stages)
        stages.push_back(stage_to_json(stage));
    return {
        {"name", spec.name},
        {"model", {{"preset", spec.model.preset}, {"from", spec.model.from}}},
        {"data", data_to_json(spec.data)},
        {"seed", spec.seed},
        {"stages", stages},
        {"parallel", parallel_to_json(spec)},
        {"memory", memory_to_json(spec.memory)},
        {"precision", spec.precision},
        {"optimizer", optimizer_to_json(spec.optimizer)},
        {"resources",
         {{"devices", spec.resources.devices},
          {"kind", spec.resources.kind},
          {"placement", placement_to_json(spec.resources.placement)}}},
        {"checkpoint",
         {{"dir", spec.checkpoint.dir},
          {"every_steps", spec.checkpoint.every_steps},
          {"every_seconds", spec.checkpoint.every.value},
          {"keep", spec.checkpoint.keep},
          {"from", spec.checkpoint.from}}},
        {"evaluation",
         {{"every_steps", spec.evaluation.every_steps}, {"tokens", spec.evaluation.tokens}}},
        {"export", {{"huggingface", spec.exports.huggingface}}},
        {"retry", {{"max", spec.retry.max}, {"lost_after_seconds", spec.retry.lost_after.value}}},
        {"priority", spec.priority}};
}

Result<JobSpec> job_spec_from_json(const json& value) {
    JobSpec spec;
    JsonObject object(value, "");
    object.read("name", spec.name).read("seed", spec.seed).read("precision", spec.precision);
    read_parts(object, spec);
    RM_RETURN_IF_ERROR(read_stages(object, spec));
    if (const json* parallel = object.member("parallel")) {
        RM_RETURN_IF_ERROR(read_parallel(*parallel, spec));
    }
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
    RM_TRY(const json value, parse_json_text(text, "rank configuration"));
    RankConfig config;
    JsonObject object(value, "");
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
