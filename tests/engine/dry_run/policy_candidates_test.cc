#include "engine/dry_run/policy_candidates.h"

#include <gtest/gtest.h>

#include "engine/dry_run/choose_memory.h"
#include "tests/engine/dry_run/dry_jobs.h"

// A search relies on these to leave candidates out.
namespace rm::test {
namespace {

const Mesh kMeshes[] = {mesh_of(1, 1, 1, 1), mesh_of(1, 4, 1, 1), mesh_of(1, 1, 4, 1),
                        mesh_of(2, 1, 1, 4), mesh_of(1, 2, 2, 2), mesh_of(2, 2, 1, 2)};

DryJob job_on(const Mesh& mesh) {
    DryJob job = little_job(16, mesh, mesh.size(Axis::tensor) > 1 ? 1 : 3);
    job.shape.context = 131072;
    return job;
}

Prediction asked(DryJob job, const MemoryPolicy& policy, DryRunOptions::Asked asked) {
    job.shape.memory = policy;
    DryRunOptions options = on_l40s(DryRunMode::steady);
    options.asked = asked;
    return predict(job.spec, job.shape, options).value();
}

Bytes device_of(const DryJob& job, const MemoryPolicy& policy) {
    return asked(job, policy, DryRunOptions::Asked::memory).device_total();
}

// All places and groups of layers of a spec that a search may try whole.
std::vector<MemoryPolicy> whole_policies(const MemorySpec& spec, std::int64_t layers) {
    std::vector<MemoryPolicy> policies;
    for (const int keep_every : groups_of(spec)) {
        if (layers / keep_every < 4) continue;
        for (MemoryPolicy place : places_of(spec, keep_every)) {
            if (place.working != WorkingSet::whole) continue;
            for (const std::int64_t chunk : {spec.tile, 2 * spec.tile, 4 * spec.tile}) {
                place.chunk_tokens = chunk;
                place.alpha = 0;
                policies.push_back(place);
            }
        }
    }
    return policies;
}

TEST(LeanestWhole, TakesLeastOfTheDevice) {
    for (const Mesh& mesh : kMeshes) {
        const DryJob job = job_on(mesh);
        for (const std::int64_t tile : {512, 2048}) {
            MemorySpec spec{.tile = tile};
            spec.prefetch = tile == 512 ? 4 : 1;
            const Bytes least = device_of(job, leanest_whole(spec));
            const auto policies = whole_policies(spec, job.spec.model.num_layers);
            ASSERT_EQ(policies.size(), 36);
            for (const MemoryPolicy& policy : policies)
                EXPECT_LE(least, device_of(job, policy)) << to_string(mesh) << to_string(policy);
        }
    }
}

// So that a search can time it alone.
TEST(LastRank, IsHardlyEverTheFasterEndOfTheRing) {
    for (const Mesh& mesh : kMeshes) {
        if (mesh.size(Axis::ring) == 1) continue;
        const DryJob job = job_on(mesh);
        for (const Switch windows : {Switch::off, Switch::on}) {
            const MemoryPolicy policy =
                resolve_memory({.tile = 512, .chunk = 4096, .alpha = 0, .windows = windows});
            const auto first = asked(job, policy, DryRunOptions::Asked::first);
            const auto last = asked(job, policy, DryRunOptions::Asked::last);
            EXPECT_LE(first.step.value, 1.001 * last.step.value) << to_string(mesh);
            EXPECT_EQ(merge(first, last).step, std::max(first.step, last.step));
        }
    }
}

TEST(ChooseMemory, PredictsBothEndsOfTheRing) {
    const DryJob job = job_on(mesh_of(1, 4, 1, 1));
    const MemorySpec spec{.device = device_of(job, resolve_memory({.alpha = 0.5}))};
    const auto chosen = choose_memory(job.spec, job.shape, spec, on_l40s(DryRunMode::steady));
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    const Prediction again = asked(job, chosen->policy, DryRunOptions::Asked::all);
    EXPECT_EQ(chosen->prediction.step, again.step);
    EXPECT_EQ(chosen->prediction.moved, again.moved);
    EXPECT_EQ(chosen->prediction.device, again.device);
}

}  // namespace
}  // namespace rm::test
