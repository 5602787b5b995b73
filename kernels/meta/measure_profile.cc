#include "kernels/meta/measure_profile.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <map>
#include <span>
#include <utility>

#include "kernels/meta/profile_samples.h"

namespace rm {
namespace {

// Rounds until the budget is spent.
void run_rounds(ProfileSampler& sampler, Seconds budget) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(budget.value);
    do {
        sampler.run_round();
    } while (Clock::now() < end);
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

// Shapes of small models, cut at tiles of 512 tokens.
void add_grid(ProfileSampler& sampler) {
    for (const auto& [T, N, K] :
         std::initializer_list<std::array<std::int64_t, 3>>{{64, 64, 256},
                                                            {64, 256, 256},
                                                            {512, 64, 256},
                                                            {512, 256, 256},
                                                            {512, 512, 512},
                                                            {512, 1536, 512},
                                                            {512, 1024, 1024},
                                                            {512, 3072, 1024}}) {
        sampler.products(T, N, K);
    }
    for (const auto& [T, C] : std::initializer_list<std::array<std::int64_t, 2>>{
             {64, 256}, {512, 256}, {512, 1024}, {2048, 1024}}) {
        sampler.tokens(T, C);
    }
    for (const std::int64_t D : {64, 128}) {
        sampler.attention({128, 128, 4, 2, D});
        sampler.attention({512, 512, 4, 2, D});
        sampler.attention({256, 1024, 4, 2, D});
        sampler.attention({256, 4096, 4, 2, D});
    }
    for (const std::int64_t C : {256, 512, 1024})
        sampler.head(128, C, 4096);
    for (const std::int64_t size : {1 << 12, 1 << 16, 1 << 20, 1 << 23})
        sampler.update(size);
    for (const std::int64_t T : {256, 1024, 4096})
        sampler.attention_rows(T, 4, 128);
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

}  // namespace

DeviceProfile measure_profile(Kernels& kernels, const MeasureOptions& options) {
    ProfileSampler tiny(kernels, options.now), grid(kernels, options.now);
    ProfileSampler tiny_copies(kernels, options.transfer_now);
    ProfileSampler copies(kernels, options.transfer_now);
    add_tiny(tiny);
    add_grid(grid);
    tiny_copies.transfers(64);
    for (const std::int64_t size : {1 << 14, 1 << 18, 1 << 22, 1 << 26})
        copies.transfers(size);
    run_rounds(tiny, {options.budget.value * 0.05});
    run_rounds(tiny_copies, {options.budget.value * 0.01});
    run_rounds(copies, {options.budget.value * 0.1});
    run_rounds(grid, {options.budget.value * 0.84});
    auto overheads = overheads_of(tiny.samples());
    overheads.merge(overheads_of(tiny_copies.samples()));
    DeviceProfile profile{.name = std::string(kernels.name()), .compute = kernels.types().compute};
    auto groups = groups_of(grid.samples());
    groups.merge(groups_of(copies.samples()));
    for (const auto& [of, samples] : groups) {
        const auto& [op, head_dim] = of;
        profile.ops.push_back(speed_from(op, head_dim, samples, overheads.at(op)));
        if (op == "linear_fwd") {
            for (const SpeedPoint& point : profile.ops.back().points)
                profile.peak_flops = std::max(profile.peak_flops, point.per_sec);
        }
    }
    const double elements = 1024 * 1024;
    profile.prepared_copies =
        static_cast<int>(static_cast<double>(kernels.prepared_bytes(1024, 1024).value) /
                             (elements * static_cast<double>(size_of(profile.compute))) +
                         0.5);
    return profile;
}

std::vector<CheckedSample> measure_check(Kernels& kernels, const DeviceProfile& profile,
                                         const MeasureOptions& options) {
    ProfileSampler sampler(kernels, options.now), copies(kernels, options.transfer_now);
    add_check(sampler);
    copies.transfers(3 << 20);
    run_rounds(sampler, {options.budget.value * 0.9});
    run_rounds(copies, {options.budget.value * 0.1});
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
