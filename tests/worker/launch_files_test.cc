#include "worker/agent/launch_files.h"

#include <gtest/gtest.h>

#include "engine/train/rank_config.h"
#include "service/job_file/job_file.h"
#include "tests/service/random_values.h"

namespace rm {
namespace {

constexpr std::string_view kJob = R"(name: kept
model: {preset: tiny}
data: {path: /books}
stages: [{context: 1K, batch: 2K, tokens: 1M}]
parallel: {data: 2}
memory: {tile: 64, chunk: 128, keep: input, alpha: 0.25, windows: on, prefetch: 3, arena: separate,
         device: 40GiB, host: 1000B}
)";

TEST(LaunchFiles, ALaunchComesBackAsItWasCommanded) {
    const LaunchAttempt launch{.epoch = {7},
                               .job = {"abc123"},
                               .spec = parse_job_file(kJob, "job.yaml").value(),
                               .plan = {.mesh = Mesh::make(2, 1, 1, 1).value(),
                                        .zero = 1,
                                        .collective_timeout = Seconds{7}},
                               .ranks = {{1, 0}},
                               .checkpoint_dir = "/ckpt",
                               .owner = "ann",
                               .yaml = std::string(kJob)};
    EXPECT_EQ(parse_launch(to_json(launch)).value(), launch);
    EXPECT_EQ(parse_launch("{}").error().code, ErrorCode::data_loss);
}

// resources.placement was once forgotten here: a job was adopted without the devices it names.
TEST(LaunchFiles, EveryFieldOfALaunchComesBack) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Rng rng(seed);
        LaunchAttempt launch;
        fill(rng, launch);
        for (DataSource& source : launch.spec.data.sources)
            source.proportion = std::abs(source.proportion);
        EXPECT_EQ(parse_launch(to_json(launch)).value(), launch) << "seed " << seed;
    }
}

TEST(LaunchFiles, AJobsMemoryReachesTheRank) {
    const JobSpec spec = parse_job_file(kJob, "job.yaml").value();
    const LaunchAttempt launch{
        .spec = spec, .plan = {.memory = resolve_memory(spec.memory)}, .ranks = {{0, 0}}};
    const Inventory inventory{.devices = {{.kind = "cpu"}}};
    const RankConfig rank =
        parse_rank_config(to_json(rank_config_of(launch, launch.ranks[0], inventory,
                                                 {.memory = Bytes{3 << 20}}, "/run")))
            .value();
    EXPECT_EQ(rank.spec, spec);
    EXPECT_EQ(rank.host_memory, Bytes{3 << 20});
    EXPECT_EQ(rank.plan.memory, (MemoryPolicy{.tile_tokens = 64,
                                              .chunk_tokens = 128,
                                              .keep = Keep::input,
                                              .alpha = 0.25,
                                              .kept = KeptPlace::host,
                                              .working = WorkingSet::windows,
                                              .prefetch = 3,
                                              .reuse = ArenaReuse::off,
                                              .device = Bytes{std::int64_t{40} << 30},
                                              .host = Bytes{1000}}));
}

TEST(LaunchFiles, ARankFindsTheMeasuredProfileOfItsKindOfDevice) {
    const LaunchAttempt launch{.ranks = {{0, 0}, {1, 1}}};
    const Inventory inventory{
        .devices = {{.index = 0, .kind = "cpu"}, {.index = 1, .kind = "L40S"}}};
    const RankTerms terms{.profiles = {{"L40S", "/state/profiles/L40S.json"}}};
    const auto profile_of = [&](int rank) {
        const RankConfig config =
            rank_config_of(launch, launch.ranks[usize(rank)], inventory, terms, "/run");
        return parse_rank_config(to_json(config)).value().device_profile;
    };
    EXPECT_EQ(profile_of(0), "");
    EXPECT_EQ(profile_of(1), "/state/profiles/L40S.json");
}

}  // namespace
}  // namespace rm
