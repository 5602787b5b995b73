// The longest contexts that published systems report, and those that this one exists for: what a
// rank takes of its device and of its share of the host.
#include <gtest/gtest.h>

#include "kernels/meta/meta_kernels.h"
#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

constexpr std::int64_t kMega = std::int64_t{1} << 20;
constexpr Bytes kL40s{45'568 * kMega};       // 44.5 GiB
constexpr Bytes kL40sHost{144'000'000'000};  // each
constexpr Bytes kA100{78 * 1024 * kMega};
constexpr Bytes kA100Host{125'000'000'000};  // an eighth of 1 TB

struct LimitCase {
    std::string name;
    std::string model;
    std::int64_t context = 0;
    Mesh mesh;
    bool l40s = true;
    bool host_state = false;
    Keep keep = Keep::input_and_attention;
    int keep_every = 1;
};
void PrintTo(const LimitCase& c, std::ostream* out) {
    *out << c.name;
}

const DeviceProfile& profile_of(const LimitCase& c) {
    static const std::vector<DeviceProfile> all = published_profiles();
    const auto named = [&](const DeviceProfile& profile) {
        return profile.name == (c.l40s ? "L40S" : "A100");
    };
    return *std::ranges::find_if(all, named);
}

class Limits : public testing::TestWithParam<LimitCase> {};

TEST_P(Limits, AreWithinTheDeviceAndTheHost) {
    const LimitCase& c = GetParam();
    ScheduleRecorder unread;
    const NumericTypes types{DType::bf16, DType::f32, DType::f32};
    const auto host = make_meta_kernels(unread, {.types = types});
    DryJob job = large_job(c.mesh);
    job.spec.model = find_preset(c.model).value();
    if (c.host_state) job.spec.host = host.get();
    job.shape.context = c.context;
    job.shape.memory.kept = KeptPlace::host;
    job.shape.memory.keep = c.keep;
    job.shape.memory.alpha = 0;
    job.shape.memory.keep_every = c.keep_every;
    DryRunOptions options{.types = types,
                          .profile = &profile_of(c),
                          .links = uniform_links({Seconds{10e-6}, 12.5e9})};
    for (const WorkingSet working : {WorkingSet::whole, WorkingSet::windows}) {
        job.shape.memory.working = working;
        const Prediction p = predict(job.spec, job.shape, options).value();
        std::printf("    %-16s %-8s device %5.1f GiB, host %6.1f GiB, step %s, MFU %.1f %%\n",
                    c.name.c_str(), std::string(to_string(working)).c_str(),
                    static_cast<double>(p.device_total().value) / (1024.0 * kMega),
                    static_cast<double>(p.host_total().value) / (1024.0 * kMega),
                    to_string(p.step).c_str(), 100 * p.causal_mfu);
        EXPECT_LE(p.device_total(), c.l40s ? kL40s : kA100);
        EXPECT_LE(p.host_total(), c.l40s ? kL40sHost : kA100Host);
        // In windows the working tensors are on the host, too: attention makes room for them.
        job.shape.memory.keep = Keep::input;
    }
}

std::vector<LimitCase> cases() {
    const auto ranks = [](int ring, int ulysses) { return mesh_of(1, ring, ulysses, 1); };
    const std::string small = "llama3-8b", large = "llama3-70b";
    return {{"8B_1M_8_L40S", small, kMega, ranks(1, 8)},
            {"8B_2M_8_L40S", small, 2 * kMega, ranks(1, 8)},
            {"8B_4M_16_L40S", small, 4 * kMega, ranks(2, 8)},
            {.name = "8B_2M_4_A100",
             .model = small,
             .context = 2 * kMega,
             .mesh = ranks(1, 4),
             .l40s = false,
             .keep_every = 2},
            {.name = "8B_4M_8_A100",
             .model = small,
             .context = 4 * kMega,
             .mesh = ranks(1, 8),
             .l40s = false,
             .keep_every = 2},
            {.name = "70B_1M_32_L40S",
             .model = large,
             .context = kMega,
             .mesh = ranks(4, 8),
             .host_state = true},
            {.name = "70B_4M_32_A100",
             .model = large,
             .context = 4 * kMega,
             .mesh = ranks(4, 8),
             .l40s = false,
             .keep_every = 2},
            {.name = "70B_4M_64_L40S",
             .model = large,
             .context = 4 * kMega,
             .mesh = ranks(8, 8),
             .host_state = true,
             .keep = Keep::input}};
}

INSTANTIATE_TEST_SUITE_P(Published, Limits, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// With a fixed chunk the device memory of a step does not depend on the context.
TEST(Windows, TakeAsMuchOfTheDeviceForSixteenMillionTokensAsForAQuarterOfOne) {
    for (const Mesh& mesh : {mesh_of(1, 4, 8, 1), mesh_of(1, 4, 4, 2)}) {
        std::vector<Bytes> arenas;
        for (const std::int64_t context : {kMega / 4, kMega, 4 * kMega, 16 * kMega}) {
            DryJob job = large_job(mesh);
            job.shape.context = context;
            MemoryPolicy& memory = job.shape.memory;
            memory.tile_tokens = memory.chunk_tokens = 1024;
            memory.kept = KeptPlace::host;
            memory.working = WorkingSet::windows;
            memory.keep = Keep::input;
            memory.alpha = 0;
            arenas.push_back(predict(job.spec, job.shape, {}).value().device.planned);
        }
        for (const Bytes arena : arenas)
            EXPECT_EQ(arena, arenas[0]) << to_string(mesh);
    }
}

}  // namespace
}  // namespace rm::test
