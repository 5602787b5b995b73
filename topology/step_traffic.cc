#include "topology/step_traffic.h"

#include <algorithm>

namespace rm {
namespace {

constexpr std::int64_t kAccumulatorBytes = 4;

// The letters of docs/communication.md.
struct Letters {
    std::int64_t S, T, C, D, L, M, Ro, Ri, U, P, G, hq, hk, c, a, n;
};

Letters letters_of(const ModelConfig& model, const Mesh& mesh, const StepShape& shape) {
    Letters l{};
    const std::int64_t data = mesh.size(Axis::data);
    const std::int64_t ring = mesh.size(Axis::ring);
    l.U = mesh.size(Axis::ulysses);
    l.P = mesh.size(Axis::tensor);
    l.Ro = mesh.outer_ring();
    l.Ri = mesh.inner_ring();
    l.G = data * ring * l.U;
    l.S = shape.context / ring;
    l.T = l.S / l.U;
    l.M = std::max<std::int64_t>(1, shape.batch / std::max<std::int64_t>(1, shape.context) / data);
    l.C = model.hidden;
    l.D = model.head_dim;
    l.L = model.num_layers;
    l.hq = model.num_query_heads / (l.U * l.P);
    l.hk = std::max<std::int64_t>(1, model.num_kv_heads / (l.U * l.P));
    l.c = shape.compute_bytes;
    l.a = kAccumulatorBytes;
    l.n = model.num_parameters() / l.P;
    return l;
}

CommPhase ring_phase(const Letters& l) {
    const std::int64_t b = 2 * l.S * l.hk * l.D;
    const std::int64_t each = l.M * l.L * b * (2 * l.c + l.a);
    const std::int64_t hops = l.Ro * (l.Ri - 1);
    return {Axis::ring, Pattern::ring, {each * hops}, 3 * l.M * l.L * hops, {each * (l.Ro - 1)}};
}

CommPhase ulysses_phase(const Letters& l, MessageNumbers numbers) {
    const std::int64_t head = row_bytes(numbers, l.D, l.c), summed = row_bytes(numbers, l.D, l.a);
    const std::int64_t forward = head * (2 * l.hq + 2 * l.hk);
    const std::int64_t backward = 2 * l.hq * head + l.hq * l.a + 2 * l.hk * summed;
    return {Axis::ulysses,
            Pattern::all_to_all,
            {l.M * l.L * (l.U - 1) * l.T * (forward + backward)},
            7 * l.M * l.L};
}

CommPhase tensor_gathers(const Letters& l, std::int64_t x, MessageNumbers numbers) {
    const std::int64_t of_layers = l.M * 6 * l.L, others = l.M * 2;
    const std::int64_t packed = x / (l.C * l.c) * row_bytes(numbers, l.C, l.c);
    return {Axis::tensor,
            Pattern::ring,
            {of_layers * packed + others * x},
            (of_layers + others) * (l.P - 1)};
}

CommPhase tensor_trades(const Letters& l, std::int64_t x) {
    const std::int64_t trades = l.M * (4 * l.L + 2);
    return {Axis::tensor, Pattern::all_to_all, {trades * x}, trades};
}

// Gradients and weights of all units; one collective moves one unit.
CommPhase parameter_phase(const Letters& l, const StepShape& shape) {
    const std::int64_t gradient = shape.gradient_bytes;
    const int zero = gradient < kAccumulatorBytes ? std::max(shape.zero, 2) : shape.zero;
    const std::int64_t z = l.n / l.G * (l.G - 1);
    const std::int64_t units = l.L + 2;
    const std::int64_t steps = units * (l.G - 1);
    const std::int64_t sums = zero >= 2 ? l.M : 1;
    // Passes that gather layers: at stage 3 the last two layers are still gathered when a pass
    // ends.
    const std::int64_t layers = l.L + (2 * l.M - 1) * std::max<std::int64_t>(0, l.L - 2);
    const std::int64_t gathered = zero == 3 ? z / l.L * layers : z;
    if (zero == 0) return {Axis::data, Pattern::ring, {2 * z * gradient}, 2 * steps};
    return {Axis::data,
            Pattern::ring,
            {sums * z * gradient + gathered * l.c},
            sums * steps + (zero == 3 ? layers : units) * (l.G - 1)};
}

}  // namespace

StepTraffic step_traffic(const ModelConfig& model, const Mesh& mesh, const StepShape& shape) {
    const Letters l = letters_of(model, mesh, shape);
    StepTraffic traffic;
    if (l.P > 1) {
        const std::int64_t x = l.T * l.C * l.c / l.P * (l.P - 1);
        traffic.push_back(tensor_gathers(l, x, shape.messages.tensor));
        traffic.push_back(tensor_trades(l, x));
    }
    if (l.U > 1) traffic.push_back(ulysses_phase(l, shape.messages.ulysses));
    if (l.Ro * l.Ri > 1) traffic.push_back(ring_phase(l));
    if (l.G > 1) traffic.push_back(parameter_phase(l, shape));
    return traffic;
}

}  // namespace rm
