#include "engine/dry_run/steady_ring.h"

namespace rm {

Result<std::optional<SteadyRing>> SteadyRing::of(const RankSpec& spec, const StageShape& shape,
                                                 const DryRunOptions& options) {
    RM_TRY(const RankLayout layout,
           make_rank_layout(shape.context, spec.mesh, spec.rank, shape.memory));
    if (!layout.in_windows() || options.mode != DryRunMode::steady)
        return std::optional<SteadyRing>();
    const RingOrder& order = layout.ring_order;
    const auto [steps, rounds] =
        shape.ring_sample.value_or(RingSample{order.inner_size, order.outer_size});
    const auto [few_steps, few_rounds] = kPlanningRing;
    // Otherwise the samples would be no shorter than the ring.
    if (steps > 2 * few_steps + 1) {
        return std::optional<SteadyRing>(
            {{{{few_steps, rounds}, {few_steps + 1, rounds}}}, steps - few_steps});
    }
    if (rounds > 2 * few_rounds + 1) {
        return std::optional<SteadyRing>(
            {{{{steps, few_rounds}, {steps, few_rounds + 1}}}, rounds - few_rounds});
    }
    return std::optional<SteadyRing>();
}

}  // namespace rm
