#include <gtest/gtest.h>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/device_profile.h"
#include "kernels/meta/meta_kernels.h"
#include "kernels/meta/op_work.h"

namespace rm {
namespace {

TEST(MetaKernels, TakeTimesAndSizesFromTheProfile) {
    const DeviceProfile profile = published_profiles().front();
    ScheduleRecorder recorder;
    const auto kernels = make_meta_kernels(
        recorder, {.types = {DType::bf16, DType::f32, DType::f32}, .profile = &profile});
    Device& device = kernels->device();
    const auto stream = device.make_stream("compute");
    const auto weight = kernels->make_prepared(4096, 4096, WeightForm::compute);
    const Tensor x(device, MemoryKind::activations, DType::bf16, {8192, 4096});
    const LinearFwd op{.x = x, .weight = weight.get(), .y = x};
    EXPECT_EQ(kernels->prepared_bytes(4096, 4096, WeightForm::compute), Bytes{4096 * 4096 * 2});
    EXPECT_EQ(kernels->workspace_bytes(op), speed_of(profile, "linear_fwd").workspace);

    kernels->run(op, {}, *stream);
    const double flops = 2.0 * 8192 * 4096 * 4096;
    const auto last = [&] { return recorder.schedule().items.back(); };
    EXPECT_EQ(last().seconds, seconds_of(profile, "linear_fwd", {.amount = flops, .size = flops}));
    EXPECT_GT(last().seconds.value, flops / profile.peak_flops);
    EXPECT_LT(last().seconds.value, 2 * flops / profile.peak_flops);

    const PinnedBuffer host(device, x->num_bytes());
    device.upload(host.data(), x, *stream);
    const double link = speed_of(profile, "upload").points.front().per_sec;
    EXPECT_NEAR(last().seconds.value, 8192 * 4096 * 2 / link, 1e-4);
}

TEST(MetaKernels, TakeNoTimeWithoutAProfile) {
    ScheduleRecorder recorder;
    const auto kernels = make_meta_kernels(recorder, {});
    const auto stream = kernels->device().make_stream("compute");
    const Tensor x(kernels->device(), MemoryKind::data, DType::f32, {100});
    kernels->run(FillZero{x}, *stream);
    EXPECT_EQ(recorder.schedule().items.back().seconds, Seconds{});
}

// Predicted times count the rows that the op moves, not the whole table.
TEST(OpWork, OfAnEmbeddingIsItsTokensRows) {
    const TensorView tokens(nullptr, DType::i32, {10}), x(nullptr, DType::bf16, {10, 64});
    const TensorView table(nullptr, DType::f32, {128'000, 64});
    const EmbeddingFwd op{.tokens = tokens, .table = table, .x = x};
    const OpAccesses accesses = accesses_of(op, {DType::bf16, DType::f32, DType::f32});
    EXPECT_EQ(work_of(op, 0, accesses).amount, 2 * 10 * 64 * 2);
}

TEST(OpWork, OfAttentionHasTheKeysThatAQuerySees) {
    const std::vector<rm::Run> queries{{0, 4, 4}}, keys{{0, 0, 6}};  // see 5, 6, 6, 6
    const TensorView q(nullptr, DType::f32, {4, 2, 8}), k(nullptr, DType::f32, {6, 2, 8});
    const AttentionFwd op{.q = q, .k = k, .v = k, .q_runs = queries, .kv_runs = keys};
    const OpWork work = work_of(op, flops_of(op), {});
    EXPECT_EQ(work.amount, 4.0 * 8 * 2 * 23);
    EXPECT_EQ(work.size, 23.0 / 4);
    EXPECT_EQ(work.head_dim, 8);
}

}  // namespace
}  // namespace rm
