#include "engine/train/resolve_model.h"

#include "engine/hf/directory.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {
namespace {

Result<ModelConfig> preset_for(const JobSpec& spec) {
    constexpr std::int64_t kMultiple = 64;
    RM_TRY(ModelConfig model, find_preset(spec.model.preset));
    if (spec.data.tokenizer == "bytes") return model;
    RM_TRY(const auto tokenizer, open_tokenizer(spec.data.tokenizer));
    model.vocabulary = (tokenizer->vocabulary() + kMultiple - 1) / kMultiple * kMultiple;
    return model;
}

}  // namespace

Result<ModelConfig> resolve_model(const JobSpec& spec, const std::optional<ModelConfig>& given) {
    const std::string& from = spec.model.from;
    if (from.empty()) return given ? Result<ModelConfig>(*given) : preset_for(spec);
    if (given) return invalid_argument("model.from: {} has its own sizes; none can be given", from);
    auto config = read_hf_config(from);
    if (!config) {
        return Error{config.error().code, format("model.from: {}", config.error().message)};
    }
    return config->model;
}

}  // namespace rm
