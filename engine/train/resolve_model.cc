#include "engine/train/resolve_model.h"

#include "engine/hf/directory.h"

namespace rm {

Result<ModelConfig> resolve_model(const ModelSpec& spec, const std::optional<ModelConfig>& given) {
    if (spec.from.empty()) return given ? Result<ModelConfig>(*given) : find_preset(spec.preset);
    if (given) {
        return invalid_argument("model.from: {} has its own sizes; none can be given", spec.from);
    }
    auto config = read_hf_config(spec.from);
    if (!config) {
        return Error{config.error().code, format("model.from: {}", config.error().message)};
    }
    return config->model;
}

}  // namespace rm
