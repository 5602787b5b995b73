#include "kernels/meta/measure_profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "kernels/meta/profile_shapes.h"
#include "kernels/meta/transfer_rates.h"

namespace rm {
namespace {

// Rounds until a share of the budget is spent; every sample is measured once at least.
void run_rounds(ProfileSampler& sampler, const MeasureOptions& options, double share) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(options.budget.value * share);
    const auto is_late = [end] { return Clock::now() >= end; };
    int rounds = 0;
    do {
        sampler.run_round(is_late);
    } while (!is_late() && ++rounds < options.most_rounds);
}

// One op's samples by ascending size become its speeds: the smallest shows what a call costs
// beside its work.
OpSpeed speed_from(const std::string& op, std::int64_t head_dim,
                   std::vector<const ProfileSample*> samples, Seconds overhead) {
    std::sort(samples.begin(), samples.end(),
              [](const auto* a, const auto* b) { return a->work.size < b->work.size; });
    OpSpeed speed{.op = op, .head_dim = head_dim, .overhead = overhead};
    for (const ProfileSample* sample : samples) {
        const double size = sample->work.size;
        if (!speed.points.empty() && size <= speed.points.back().size) continue;
        // Overhead was another call's: it never explains most of this one's time.
        const double seconds = std::max(sample->seconds() - overhead.value, sample->seconds() / 4);
        speed.points.push_back({size, sample->work.amount / seconds});
    }
    return speed;
}

// The time of each op's cheapest call.
std::map<std::string, Seconds> overheads_of(std::span<const ProfileSample> tiny) {
    std::map<std::string, Seconds> overheads;
    for (const ProfileSample& sample : tiny)
        overheads[sample.op] = {sample.seconds()};
    return overheads;
}

// One token, one head, one weight: calls that have next to nothing to do.
void add_tiny(ProfileSampler& sampler) {
    sampler.products(1, 64, 64);
    sampler.tokens(1, 64);
    sampler.attention({1, 1, 1, 1, 64});
    sampler.attention_rows(1, 1, 64);
    sampler.head(1, 64, 64);
    sampler.update(64);
}

void add_check(ProfileSampler& sampler) {
    sampler.products(512, 768, 768);
    sampler.products(320, 1280, 640);
    sampler.products(512, 128, 512);
    sampler.products(512, 2048, 768);
    sampler.tokens(512, 640);
    sampler.tokens(1024, 512);
    sampler.attention({640, 640, 8, 2, 64});
    sampler.attention({320, 3072, 4, 4, 96});
    sampler.attention({1536, 1536, 2, 2, 128});
    sampler.head(256, 768, 8192);
    sampler.update(3 << 18);
    sampler.attention_rows(2048, 8, 64);
}

// By op and head dim.
using Groups = std::map<std::pair<std::string, std::int64_t>, std::vector<const ProfileSample*>>;
Groups groups_of(std::span<const ProfileSample> samples) {
    Groups groups;
    for (const ProfileSample& sample : samples)
        groups[{sample.op, sample.work.head_dim}].push_back(&sample);
    return groups;
}

using Overheads = std::map<std::string, Seconds>;

Overheads measure_overheads(Kernels& kernels, const MeasureOptions& options) {
    ProfileSampler tiny(kernels, options.now), tiny_copies(kernels, options.transfer_now);
    add_tiny(tiny);
    tiny_copies.transfers(64);
    run_rounds(tiny, options, 0.05);
    run_rounds(tiny_copies, options, 0.01);
    Overheads overheads = overheads_of(tiny.samples());
    overheads.merge(overheads_of(tiny_copies.samples()));
    return overheads;
}

// Plans count the workspace of calls on a device with memory of its own.
Bytes largest_workspace(std::span<const ProfileSample* const> samples) {
    Bytes largest;
    for (const ProfileSample* sample : samples)
        largest = std::max(largest, sample->workspace);
    return largest;
}

// The highest amount a second that a call reaches, its overhead included: a point's speed leaves
// the overhead out and may be beyond what the machine can do.
double best_rate(const OpSpeed& speed) {
    double best = 0;
    for (const auto& [size, per_sec] : speed.points)
        best = std::max(best, size / (speed.overhead.value + size / per_sec));
    return best;
}

void add_speeds(Kernels& kernels, std::span<const ProfileSample> samples,
                const Overheads& overheads, DeviceProfile& profile) {
    for (const auto& [of, group] : groups_of(samples)) {
        const auto& [op, head_dim] = of;
        profile.ops.push_back(speed_from(op, head_dim, group, overheads.at(op)));
        OpSpeed& speed = profile.ops.back();
        if (!kernels.device().host_visible()) speed.workspace = largest_workspace(group);
        if (op == "linear_fwd") profile.peak_flops = best_rate(speed);
        if (op == "fp8_linear_fwd") profile.fp8_peak_flops = best_rate(speed);
    }
}

void measure_transfers(Kernels& kernels, const MeasureOptions& options, const ProfileShapes& shapes,
                       const Overheads& overheads, DeviceProfile& profile) {
    {
        ProfileSampler copies(kernels, options.transfer_now);
        for (const std::int64_t size : shapes.transfers)
            copies.add_if_room([&] { copies.transfers(size); });
        run_rounds(copies, options, 0.1);
        add_speeds(kernels, copies.samples(), overheads, profile);
    }
    if (kernels.device().host_visible()) return;
    const CopyTerms terms{.size = {std::min<std::int64_t>(shapes.transfers.back(), 1 << 26)},
                          .span = {options.budget.value * 0.02}};
    profile.transfers = measure_shared_transfers(kernels.device(), options.busy, terms);
}

int prepared_copies(const Kernels& kernels) {
    const double plain = 1024.0 * 1024.0 * static_cast<double>(size_of(kernels.types().compute));
    const auto prepared =
        static_cast<double>(kernels.prepared_bytes(1024, 1024, WeightForm::compute).value);
    return static_cast<int>(prepared / plain + 0.5);
}

// The memory that is neither free nor allocated through the device.
Bytes held_of(const Device& device, const DeviceFacts& facts) {
    const Bytes used{facts.memory.value - facts.free.value};
    return {std::max<std::int64_t>(used.value - device.allocated().value, 0)};
}

}  // namespace

DeviceProfile measure_profile(Kernels& kernels, const MeasureOptions& options) {
    const DeviceFacts device = kernels.device().facts();
    DeviceProfile profile{
        .name = device.product.empty() ? std::string(kernels.name()) : device.product,
        .compute = kernels.types().compute,
        .memory = device.memory,
        .prepared_copies = prepared_copies(kernels)};
    const double speed = probe_speed(kernels, options.now);
    const ProfileShapes shapes = shapes_for(speed, {options.budget.value / 100});
    const Overheads overheads = measure_overheads(kernels, options);
    measure_transfers(kernels, options, shapes, overheads, profile);
    {
        ProfileSampler grid(kernels, options.now);
        add_shapes(shapes, grid);
        run_rounds(grid, options, 0.76);
        add_speeds(kernels, grid.samples(), overheads, profile);
    }
    profile.held = held_of(kernels.device(), kernels.device().facts());
    return profile;
}

std::vector<CheckedSample> measure_check(Kernels& kernels, const DeviceProfile& profile,
                                         const MeasureOptions& options) {
    ProfileSampler sampler(kernels, options.now), copies(kernels, options.transfer_now);
    add_check(sampler);
    copies.transfers(3 << 20);
    run_rounds(sampler, options, 0.9);
    run_rounds(copies, options, 0.1);
    std::vector<CheckedSample> checked;
    for (ProfileSampler* from : {&sampler, &copies}) {
        for (const ProfileSample& sample : from->samples()) {
            checked.push_back({sample.op,
                               sample.shape,
                               {sample.seconds()},
                               seconds_of(profile, sample.op, sample.work)});
        }
    }
    return checked;
}

}  // namespace rm
