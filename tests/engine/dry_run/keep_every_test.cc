// A dry run of few layers is that of all where groups of layers keep one input, and where inputs
// are kept in FP8.
#include <gtest/gtest.h>

#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

DryJob job_of(const PolicyCase& c, std::int64_t layers, int keep_every) {
    DryJob job = job_of(c, layers);
    job.shape.memory.keep_every = keep_every;
    return job;
}

Prediction prediction_of(const DryJob& job, DryRunMode mode) {
    return predict(job.spec, job.shape, on_l40s(mode)).value();
}

class KeepEvery : public testing::TestWithParam<PolicyCase> {};

TEST_P(KeepEvery, IsPredictedFromFewLayers) {
    for (const auto& [layers, every] : {std::pair{20, 2}, {21, 2}, {31, 3}, {29, 4}}) {
        const DryJob job = job_of(GetParam(), layers, every);
        const Prediction steady = prediction_of(job, DryRunMode::steady);
        const Prediction whole = prediction_of(job, DryRunMode::every_rank);
        SCOPED_TRACE(format("{} layers, every {}", layers, every));
        EXPECT_EQ(steady.device, whole.device);
        EXPECT_EQ(steady.host, whole.host);
        EXPECT_EQ(steady.moved, whole.moved);
        EXPECT_NEAR(steady.step.value, whole.step.value, 1e-3 * whole.step.value);
        EXPECT_NEAR(steady.executed_flops, whole.executed_flops, 1e-9 * whole.executed_flops);
    }
}

std::vector<PolicyCase> cases() {
    const auto host = KeptPlace::host;
    const auto fp8 = KeptPrecision::fp8;
    return {{.name = "one", .mesh = mesh_of(1, 1, 1, 1)},
            {.name = "fp8", .mesh = mesh_of(1, 1, 1, 1), .kept = host, .precision = fp8},
            {.name = "host", .mesh = mesh_of(1, 1, 1, 1), .kept = host, .alpha = 0.5},
            {.name = "windows",
             .mesh = mesh_of(1, 1, 1, 1),
             .kept = host,
             .working = WorkingSet::windows,
             .keep = Keep::input,
             .alpha = 0},
            {.name = "tensor_ring", .mesh = mesh_of(1, 2, 1, 2), .zero = 3},
            {.name = "data_zero3", .mesh = mesh_of(2, 1, 1, 1), .zero = 3, .alpha = 0}};
}

INSTANTIATE_TEST_SUITE_P(Policies, KeepEvery, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// All that is kept is inputs, on the host.
PolicyCase inputs_alone(KeptPrecision precision) {
    return {.name = "",
            .mesh = mesh_of(1, 1, 1, 1),
            .kept = KeptPlace::host,
            .keep = Keep::input,
            .alpha = 0,
            .precision = precision};
}

std::int64_t host_bytes(const DryJob& job) {
    return prediction_of(job, DryRunMode::steady).host.planned.value;
}

// 24 of T x C, or those of 6 groups and the 3 others of the last.
TEST(KeepEveryLayers, TakesTheMemoryOfAGroupAndOneInputPerGroup) {
    const PolicyCase c = inputs_alone(KeptPrecision::compute);
    const DryJob all = job_of(c, 24, 1), fewer = job_of(c, 24, 4);
    const std::int64_t input = all.shape.context * all.spec.model.hidden * 2;
    EXPECT_EQ(host_bytes(all) - host_bytes(fewer), (24 - 9) * input);
}

// The output of the last layer is on the device then.
TEST(KeptPrecision, InFp8TakesAByteForEachNumberAndFourForEachToken) {
    const DryJob all = job_of(inputs_alone(KeptPrecision::compute), 24, 1);
    const DryJob fp8 = job_of(inputs_alone(KeptPrecision::fp8), 24, 1);
    const std::int64_t tokens = all.shape.context, hidden = all.spec.model.hidden;
    EXPECT_EQ(host_bytes(all), 25 * tokens * hidden * 2);
    EXPECT_EQ(host_bytes(fp8), 24 * tokens * (hidden + 4));
}

}  // namespace
}  // namespace rm::test
