#include "engine/train/save/train_position.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>

#include "engine/json/json_members.h"
#include "engine/train/rank_config.h"
#include "engine/train/save/trained_model.h"

namespace rm {

using nlohmann::json;

namespace {

// The members that JSON holds as they are.
template <typename Visit>
void visit_members(Visit& visit, Like<TrainPosition> auto& position) {
    visit(Member{.name = "step"}, position.step);
    visit(Member{.name = "stage"}, position.stage);
    visit(Member{.name = "stage_step"}, position.stage_step);
    visit(Member{.name = "tokens_total"}, position.tokens_total);
    visit(Member{.name = "first_loss"}, position.first_loss);  // not in older checkpoints
}

Error differs(std::string_view what, const json& there, const json& here) {
    return invalid_argument(
        "the checkpoint was written with {} {}, the job has {}; use another checkpoint "
        "directory to start from the beginning",
        what, there.dump(), here.dump());
}

}  // namespace

double learning_rate_at(const StageSpec& stage, std::int64_t stage_step) {
    if (stage_step <= stage.warmup_steps) {
        return stage.learning_rate * static_cast<double>(stage_step) /
               static_cast<double>(stage.warmup_steps);
    }
    const double span = static_cast<double>(stage.num_steps() - stage.warmup_steps);
    const double done = static_cast<double>(stage_step - stage.warmup_steps) / span;
    const double fall = stage.learning_rate - stage.final_learning_rate;
    switch (stage.schedule) {
        case Schedule::constant:
            return stage.learning_rate;
        case Schedule::cosine:
            return stage.final_learning_rate + fall * (1 + std::cos(std::numbers::pi * done)) / 2;
        case Schedule::linear:
            return stage.final_learning_rate + fall * (1 - done);
    }
    return stage.learning_rate;
}

void advance(TrainPosition& position, const JobSpec& spec, std::int64_t tokens) {
    ++position.step;
    ++position.stage_step;
    position.tokens_total += tokens;
    const auto stage = usize(position.stage);
    if (position.stage_step < spec.stages[stage].num_steps()) return;
    ++position.stage;
    position.stage_step = 0;
}

namespace {

Error no_fp8_memory(std::string_view key, std::string_view right) {
    return make_error(ErrorCode::data_loss, format("checkpoint state: {} is no {}", key, right));
}

// Numbers, or lists of them.
template <typename T>
Status read_fp8_member(JsonObject& object, const char* key, std::string_view right, T& to) {
    const json* value = object.member(key);
    if (value == nullptr) return {};
    try {
        value->get_to(to);
    } catch (const json::exception&) {
        return no_fp8_memory(key, right);
    }
    return {};
}

Status read_fp8_memory(JsonObject& object, Fp8Memory& fp8) {
    RM_RETURN_IF_ERROR(
        read_fp8_member(object, "fp8_history", "list of lists of numbers", fp8.history));
    RM_RETURN_IF_ERROR(read_fp8_member(object, "fp8_bf16_until", "list of steps", fp8.bf16.until));
    return read_fp8_member(object, "fp8_bf16_steps", "list of steps", fp8.bf16.steps);
}

}  // namespace

json checkpoint_state(const TrainPosition& position, const JobSpec& spec, const ModelConfig& model,
                      const std::string& data_hash, const Fp8Memory& fp8) {
    json state = {{"data", to_json(position.data)},
                  {"data_hash", data_hash},
                  {"seed", spec.seed},
                  {"model", model_config_to_json(model)},
                  {"trained", trained_model_to_json(trained_model(spec, model, position))}};
    JsonWriter writer(state);
    visit_members(writer, position);
    if (!fp8.history.empty()) state["fp8_history"] = fp8.history;
    if (fp8.bf16.until.empty()) return state;
    state["fp8_bf16_until"] = fp8.bf16.until;
    state["fp8_bf16_steps"] = fp8.bf16.steps;
    return state;
}

Result<ResumePoint> read_checkpoint_state(const json& state, const JobSpec& spec,
                                          const ModelConfig& model) {
    ResumePoint point;
    std::uint64_t seed = 0;
    JsonObject object(state, "checkpoint state");
    JsonReader reader(object);
    visit_members(reader, point.position);
    object.read("data_hash", point.data_hash).read("seed", seed);
    const json* data = object.member("data");
    const json* stored_model = object.member("model");
    object.member("trained");  // a resume goes by the job
    RM_RETURN_IF_ERROR(read_fp8_memory(object, point.fp8));
    RM_RETURN_IF_ERROR(object.finish());
    if (data == nullptr || stored_model == nullptr) {
        return make_error(ErrorCode::data_loss, "checkpoint state: data or model is missing");
    }
    if (seed != spec.seed) return differs("seed", seed, spec.seed);
    RM_TRY(const ModelConfig there, model_config_from_json(*stored_model, "model"));
    if (there != model) return differs("model", *stored_model, model_config_to_json(model));
    if (point.position.stage < 0 || point.position.step < 0 || point.position.stage_step < 0) {
        return make_error(ErrorCode::data_loss, "checkpoint state: a negative position");
    }
    RM_TRY(point.position.data, data_position_from_json(*data));
    return point;
}

}  // namespace rm
