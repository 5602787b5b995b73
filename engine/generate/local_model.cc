#include "engine/generate/local_model.h"

#include <filesystem>

#include "engine/checkpoint/directory.h"
#include "engine/generate/inference_room.h"
#include "engine/hf/directory.h"
#include "engine/train/dry_rank.h"
#include "engine/train/rank_config.h"
#include "engine/train/save/checkpointer.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

}  // namespace

Result<std::unique_ptr<LocalModel>> LocalModel::open(const LocalModelOptions& options,
                                                     Activity& activity) {
    std::unique_ptr<LocalModel> model(new LocalModel(options));
    RM_RETURN_IF_ERROR(model->find());
    RM_RETURN_IF_ERROR(model->open_tokenizer());
    RM_RETURN_IF_ERROR(model->make_engine());
    RM_RETURN_IF_ERROR(model->load(activity));
    return model;
}

Status LocalModel::find() {
    if (!exists(options_.path))
        return make_error(ErrorCode::not_found, "there is no model {}", options_.path);
    if (exists(options_.path + "/" + std::string(kHfConfigFile))) return find_directory();
    return find_checkpoint();
}

Status LocalModel::find_checkpoint() {
    RM_TRY(const Checkpoint checkpoint, open_newest(options_.path, notes_));
    path_ = checkpoint.path();
    auto trained = trained_model_of(checkpoint.state());
    if (!trained) return within(path_, trained.error());
    trained_ = std::move(*trained);
    is_checkpoint_ = true;
    return {};
}

Status LocalModel::find_directory() {
    RM_TRY(const HfDirectory directory, HfDirectory::open(options_.path));
    path_ = options_.path;
    trained_.model = directory.model();
    trained_.context = directory.model().max_positions;
    // An export of a byte model has no tokenizer.json.
    const bool bytes = trained_.model.vocabulary == ByteTokenizer::kVocabulary &&
                       !exists(path_ + "/tokenizer.json");
    trained_.tokenizer = bytes ? std::string(ByteTokenizer::kName) : path_;
    if (!options_.device.is_cpu()) trained_.compute = DType::bf16;
    return {};
}

Status LocalModel::open_tokenizer() {
    const std::string name = options_.tokenizer.empty() ? trained_.tokenizer : options_.tokenizer;
    if (name.empty()) {
        return make_error(ErrorCode::failed_precondition,
                          "{} does not record its tokenizer: name it", path_);
    }
    auto opened = rm::open_tokenizer(name);
    if (!opened && options_.tokenizer.empty()) {
        return make_error(ErrorCode::failed_precondition, "{} (the tokenizer of {}: name another)",
                          opened.error().message, path_);
    }
    if (!opened) return opened.error();
    tokenizer_ = std::move(*opened);
    const std::int64_t most = trained_.model.vocabulary;
    if (tokenizer_->vocabulary() <= most) return {};
    return invalid_argument("the tokenizer {} has {} tokens, the model {}", name,
                            tokenizer_->vocabulary(), most);
}

Status LocalModel::make_engine() {
    RankConfig config;
    config.model = trained_.model;
    config.device = options_.device;
    config.num_threads = options_.num_threads;
    const DType compute = options_.compute.value_or(trained_.compute);
    config.spec.precision = compute == DType::bf16 ? "bf16" : "fp32";
    RM_TRY(kernels_, make_rank_kernels(config));
    network_ = make_local_transport(make_local_hub(1), {.rank = 0, .num_ranks = 1});
    RankSpec spec{.model = trained_.model};
    spec.types.weights_only = true;
    // A GPU holds the weights that it multiplies with, and no master copies.
    if (!options_.device.is_cpu()) {
        host_ = make_cpu_kernels({.num_threads = options_.num_threads, .compute = compute});
        spec.host = host_.get();
    }
    RM_RETURN_IF_ERROR(check_state_fits(spec, {}, *kernels_));
    engine_ = std::make_unique<RankEngine>(*kernels_, *network_, progress_, spec);
    meeting_ = std::make_unique<Meeting>(Meeting::Options{}, engine_->streams());
    return {};
}

Status LocalModel::load(Activity& activity) {
    if (!is_checkpoint_) {
        RM_TRY(const HfDirectory directory, HfDirectory::open(path_));
        return load_hf_weights(directory, engine_->state(), &activity);
    }
    Faults none;
    Checkpointer checkpoints({}, engine_->streams(), *meeting_, engine_->state(), none);
    return status_of(checkpoints.restore_from(path_));
}

Status LocalModel::make_room(std::int64_t tokens, std::int64_t new_tokens) {
    return enter_inference(*engine_, *meeting_,
                           {.tokens = tokens,
                            .new_tokens = new_tokens,
                            .rope = trained_.model.rope,
                            .trained_context = trained_.context});
}

}  // namespace rm
