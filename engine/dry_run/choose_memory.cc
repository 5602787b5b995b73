#include "engine/dry_run/choose_memory.h"

#include <utility>

namespace rm {
namespace {

std::string limits_text(const MemoryPolicy& policy) {
    if (policy.host.value == 0) return format("memory.device: {}", exact_text(policy.device));
    if (policy.device.value == 0) return format("memory.host: {}", exact_text(policy.host));
    return format("memory.device: {} with memory.host: {}", exact_text(policy.device),
                  exact_text(policy.host));
}

Error nothing_fits(const ChosenMemory& nearest) {
    return make_error(
        ErrorCode::resource_exhausted,
        "{} is not enough for any policy that the job allows; the nearest takes {} of the device "
        "and {} of the host: {}",
        limits_text(nearest.policy), exact_text(nearest.prediction.device_total()),
        exact_text(nearest.prediction.host_total()), to_string([&] {
            MemoryPolicy without = nearest.policy;
            without.device = without.host = {};
            return without;
        }()));
}

}  // namespace

Result<ChosenMemory> choose_memory(const RankSpec& rank, const StageShape& shape,
                                   const MemorySpec& spec, const DryRunOptions& options) {
    MemorySearch search(rank, shape, spec, options);
    RM_TRY(MemoryChoice choice, search.run(kAnyTime));
    if (choice.best) {
        RM_TRY(choice.best->prediction, search.both_ends(*choice.best));
        return *std::move(choice.best);
    }
    RM_CHECK(choice.nearest.has_value(), "no policy was tried");
    return nothing_fits(*choice.nearest);
}

}  // namespace rm
