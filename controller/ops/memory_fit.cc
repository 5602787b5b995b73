#include "controller/ops/memory_fit.h"

#include "base/model_preset.h"
#include "base/state_fit.h"
#include "controller/core/job_files.h"

namespace rm {

Status check_memory_fit(const State& state, const JobSpec& spec) {
    const Result<ModelConfig> preset = find_preset(spec.model.preset);
    if (!preset) return {};
    return check_state_fits(spec, preset->num_parameters(), devices_for(state, spec));
}

}  // namespace rm
