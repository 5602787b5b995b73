#include "engine/run/step_reporter.h"

#include <algorithm>

#include "engine/run/step_health.h"
#include "engine/windows/ring_order.h"

namespace rm {
namespace {

// The rings that attention shifts around.
std::vector<GroupKey> rings_of(const Communicator& communicator) {
    const Group& ring = communicator.group(GroupKey::ring);
    const RingOrder order(ring.size(), communicator.group(GroupKey::ring_inner).size(), ring.index);
    if (order.num_blocks() == 1) return {};
    if (!order.is_double()) return {GroupKey::ring};
    return {GroupKey::ring_inner, GroupKey::ring_outer};
}

std::set<int> ring_sources(const Communicator& communicator) {
    std::set<int> sources;
    for (const GroupKey key : rings_of(communicator))
        sources.insert(communicator.group(key).previous());
    return sources;
}

}  // namespace

ConnectedReport connected_report(const Network& network, const Communicator& communicator) {
    ConnectedReport report{
        .rank = network.rank(), .address = network.address(), .network = network.description()};
    for (const Connection& connection : network.connections())
        report.peers[connection.peer] = {connection.own, connection.other};
    for (const GroupKey key : rings_of(communicator)) {
        const Group& ring = communicator.group(key);
        report.rings[std::string(to_string(key))] = {ring.next(), ring.previous()};
    }
    return report;
}

StepReporter::StepReporter(RankParts& parts)
    : parts_(parts), sources_(ring_sources(parts.engine.streams().communicator)) {}

MemoryReport StepReporter::memory() const {
    MemoryReport report;
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        const auto kind = static_cast<MemoryKind>(i);
        const std::string name(to_string(kind));
        report.add(name, parts_.env.kernels.device().allocated(kind));
        const Bytes host = parts_.engine.state().host_bytes(kind);
        if (host.value > 0) report.add(on_host(name), host);
    }
    const Bytes kept_on_host = parts_.engine.arenas().host.size;
    if (kept_on_host.value > 0) report.add(on_host("activations"), kept_on_host);
    return report;
}

// Bytes moved since the last call and the waits of this step, by axis.
std::map<std::string, AxisTraffic> StepReporter::traffic(const StepResult& result) {
    const auto sent = parts_.engine.streams().communicator.counters().bytes_by_axis;
    std::map<std::string, AxisTraffic> axes;
    for (const auto& [axis, bytes] : sent) {
        const std::int64_t moved = bytes - sent_before_[axis];
        const auto wait = result.wait_seconds.find(axis);
        if (moved == 0) continue;
        axes[axis] = {moved, wait == result.wait_seconds.end() ? 0 : wait->second};
    }
    sent_before_ = sent;
    return axes;
}

// Rates of arrivals since the last call, on attention's rings.
std::map<int, HopRate> StepReporter::hops() {
    std::map<int, HopRate> arrived = parts_.env.network.take_arrivals();
    std::erase_if(arrived, [this](const auto& peer) { return !sources_.contains(peer.first); });
    return arrived;
}

void StepReporter::add_rates(const Done& step, StepReport& report) const {
    const StageSpec& spec = step.input.spec;
    const auto tokens = static_cast<double>(spec.batch);
    const auto S = static_cast<double>(spec.context);
    const auto sequences = static_cast<double>(spec.sequences_per_step());
    const auto pairs = static_cast<double>(step.input.batch.attended_pairs);
    report.model_flops = training_flops(parts_.model, tokens, pairs);
    const double peak = parts_.config.peak_flops * parts_.config.plan.mesh.num_ranks();
    report.peak_name = parts_.config.peak_name;
    if (peak > 0) {
        report.causal_mfu = report.model_flops / report.seconds / peak;
        report.full_mfu =
            training_flops(parts_.model, tokens, sequences * S * S) / report.seconds / peak;
        report.hfu = step.result.executed_flops / report.seconds / peak;
    }
}

StepReport StepReporter::make(const Done& step) {
    const StepResult& result = step.result;
    StepReport report;
    report.step = step.position.step;
    report.num_steps = parts_.config.spec.num_steps();
    report.stage = step.input.stage;
    report.tokens = step.input.spec.batch;
    report.tokens_total = step.position.tokens_total;
    report.loss = result.loss;
    report.grad_norm = result.grad_norm;
    report.finite = result.finite;
    report.learning_rate = step.input.learning_rate;
    report.diverged_above = divergence_limit(step.position.first_loss, parts_.model.vocabulary);
    report.seconds = result.seconds + step.input.data_seconds;
    add_rates(step, report);
    report.phase_seconds = result.phase_seconds;
    report.phase_seconds["data"] = step.input.data_seconds;
    double busy = 0;
    for (const auto& [phase, seconds] : report.phase_seconds)
        busy += seconds;
    report.phase_seconds["idle"] = std::max(0.0, report.seconds - busy);
    report.memory = memory();
    report.axes = traffic(result);
    report.hops = hops();
    report.h2d_bytes = result.host_traffic.to_device.value;
    report.d2h_bytes = result.host_traffic.to_host.value;
    report.last_collective = comm_name(parts_.env.progress.collectives.last);
    return report;
}

}  // namespace rm
