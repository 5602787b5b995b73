#include "engine/train/save/trained_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "engine/hf/rope_json.h"
#include "engine/json/json_object.h"
#include "engine/train/rank_config.h"
#include "spec/rope/stage_rope.h"

namespace rm {

using nlohmann::json;

namespace {

// The stage of the latest step; of a job that now has fewer stages, its last.
std::size_t latest_stage(const JobSpec& spec, const TrainPosition& position) {
    const bool has_begun = position.stage_step > 0 || position.stage == 0;
    const std::size_t latest = usize(has_begun ? position.stage : position.stage - 1);
    return std::min(latest, spec.stages.size() - 1);
}

Error broken(const Error& error) {
    return make_error(ErrorCode::data_loss, "checkpoint state: {}", error.message);
}

Status read_trained(const json& value, TrainedModel& trained) {
    JsonObject object(value, "trained");
    std::string compute = "f32";
    object.read("context", trained.context).read("tokenizer", trained.tokenizer);
    object.read("from", trained.from).read("compute", compute);
    const json* rope = object.member("rope");
    RM_RETURN_IF_ERROR(object.finish());
    trained.compute = compute == "bf16" ? DType::bf16 : DType::f32;
    if (rope == nullptr) return invalid_argument("trained.rope is missing");
    ModelConfig& model = trained.model;
    RM_TRY(model.rope,
           rope_parameters_from_json(*rope, "trained.rope", model.max_positions, model.head_dim));
    return {};
}

}  // namespace

TrainedModel trained_model(const JobSpec& spec, const ModelConfig& model,
                           const TrainPosition& position) {
    const std::size_t latest = latest_stage(spec, position);
    TrainedModel trained{.model = model,
                         .tokenizer = spec.data.tokenizer,
                         .from = spec.model.from,
                         .compute = compute_type(spec)};
    trained.model.rope = stage_rope(model, spec, latest);
    for (std::size_t i = 0; i <= latest; ++i)
        trained.context = std::max(trained.context, spec.stages[i].context);
    return trained;
}

json trained_model_to_json(const TrainedModel& trained) {
    return {{"rope", rope_parameters_to_json(trained.model.rope)},
            {"context", trained.context},
            {"tokenizer", trained.tokenizer},
            {"from", trained.from},
            {"compute", trained.compute == DType::bf16 ? "bf16" : "f32"}};
}

Result<TrainedModel> trained_model_of(const json& checkpoint_state) {
    const auto model = checkpoint_state.find("model");
    if (model == checkpoint_state.end())
        return make_error(ErrorCode::data_loss, "checkpoint state: model is missing");
    const auto sizes = model_config_from_json(*model, "model");
    if (!sizes) return broken(sizes.error());
    TrainedModel trained{.model = *sizes};
    const auto recorded = checkpoint_state.find("trained");
    if (recorded == checkpoint_state.end()) return trained;
    const Status read = read_trained(*recorded, trained);
    if (!read) return broken(read.error());
    return trained;
}

HfExport export_of(const TrainedModel& trained, const std::string& path) {
    HfExport options{.path = path, .source = trained.from, .tokenizer = trained.tokenizer};
    options.dtype = trained.compute == DType::bf16 ? StorageType::bf16 : StorageType::f32;
    options.context = trained.context;
    return options;
}

}  // namespace rm
