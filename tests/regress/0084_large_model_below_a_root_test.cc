#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/roots/job_files.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

// Only the sizes of presets were compared with the devices: a model below a root that none of them
// can hold was placed, and every attempt ran out of memory.
namespace rm::test {
namespace {

constexpr Bytes kDeviceMemory{16LL << 30};

struct Regress0084 : World, testing::Test {
    Regress0084() {
        for (const char* node : {"a", "b"}) {
            Hello hello = hello_of(node, 1);
            hello.roots = {{.name = "m", .path = "/m", .mount = "1:2", .writable = true}};
            hello.inventory.devices[0].memory = kDeviceMemory;
            apply(NodeHello{hello});
        }
    }
    // Returns why a job over both nodes waits, for a model of this many parameters.
    std::string reason(std::int64_t parameters, int zero, const std::string& gradients = "fp32") {
        JobSpec spec = small_spec(ring(2));
        spec.zero = zero;
        spec.model = {.preset = "", .from = "m:llama"};
        spec.optimizer.moments = "fp32";
        spec.optimizer.gradients = gradients;
        const CheckFiles check = files_needed(state, job(submit(spec))).check;
        FilesChecked checked{.key = check.key};
        for (const FileWanted& file : check.files) {
            FileFacts& facts = checked.files.emplace_back();
            facts = {.use = file.use, .path = file.path, .root = "m", .free = {1LL << 50}};
            if (file.use == FileUse::model) facts.parameters = parameters;
        }
        for (const char* node : {"a", "b"})
            apply(NodeFilesChecked{{node}, checked});
        const auto decision = plan_jobs(planning_snapshot(state, now)).back().decision;
        const auto* reasons = std::get_if<Reasons>(&decision);
        return reasons == nullptr || reasons->size() < 2 ? "" : to_string(reasons->at(1));
    }
};

TEST_F(Regress0084, IsNotPlacedAndTheReasonSaysWhatWouldFit) {
    // 16 bytes a parameter.
    EXPECT_EQ(
        reason(8'000'000'000, 0),
        "nodes a, b: model.from m:llama has 8000000000 parameters, and weights, gradients and "
        "moments of at most 1073741824 fit the devices of this cluster; use more devices with "
        "parallel.zero: 3 or tensor, optimizer.moments or optimizer.gradients: bf16, or a smaller "
        "model");
    EXPECT_EQ(reason(1'000'000'000, 0).find("parameters"), std::string::npos);
}

TEST_F(Regress0084, TwoDevicesThatShareTheStateHoldTwiceAsMuch) {
    EXPECT_EQ(reason(2'000'000'000, 3).find("parameters"), std::string::npos);
    EXPECT_NE(reason(2'200'000'000, 3).find("at most 2147483648"), std::string::npos);
}

TEST_F(Regress0084, WithGradientsInBf16AParameterTakes14BytesAndIsSharedAtAnyStage) {
    EXPECT_EQ(reason(2'400'000'000, 0, "bf16").find("parameters"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
