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

// One forward product of T tokens, weights of N x K, on a machine that only records.
Seconds fp8_seconds(const DeviceProfile& profile, Scaling scaling) {
    constexpr std::int64_t T = 8192, N = 4096, K = 4096;
    ScheduleRecorder recorder;
    const auto kernels = make_meta_kernels(
        recorder, {.types = {DType::bf16, DType::f32, DType::f32}, .profile = &profile});
    Device& device = kernels->device();
    const bool blocks = scaling == Scaling::blocks;
    const Tensor codes(device, MemoryKind::activations, DType::u8, {T, K});
    const Tensor scale = blocks ? Tensor(device, MemoryKind::activations, DType::f32, {T, K / 128})
                                : Tensor(device, MemoryKind::activations, DType::f32, {1});
    const Tensor y(device, MemoryKind::activations, DType::bf16, {T, N});
    const Fp8Matrix x{codes, scale};
    const auto weight = kernels->make_prepared(N, K, fp8_form(x));
    const auto stream = device.make_stream("compute");
    kernels->run(Fp8LinearFwd{x, weight.get(), y}, {}, *stream);
    return recorder.schedule().items.back().seconds;
}

TEST(MetaKernels, TimeProductsOfBlocksByAKernelOfTheirOwn) {
    DeviceProfile profile = published_profiles().front();
    const double flops = 2.0 * 8192 * 4096 * 4096;
    const OpWork work{.amount = flops, .size = flops};
    const Seconds whole = fp8_seconds(profile, Scaling::current);
    const Seconds blocks = fp8_seconds(profile, Scaling::blocks);
    EXPECT_EQ(whole, seconds_of(profile, "fp8_linear_fwd", work));
    EXPECT_EQ(blocks, seconds_of(profile, "fp8_block_fwd", work));
    // The published profiles assume no more than the speed of bf16.
    EXPECT_EQ(blocks, seconds_of(profile, "linear_fwd", work));
    EXPECT_GT(blocks.value, 1.5 * whole.value);
}

TEST(MetaKernels, RefuseToTimeWhatAProfileLacks) {
    DeviceProfile profile = published_profiles().front();
    EXPECT_TRUE(computes_fp8_blocks(profile));
    std::erase_if(profile.ops, [](const OpSpeed& op) { return op.op == "fp8_block_fwd"; });
    EXPECT_TRUE(check_profile(profile));
    EXPECT_TRUE(computes_fp8(profile));
    EXPECT_FALSE(computes_fp8_blocks(profile));
    EXPECT_THROW(fp8_seconds(profile, Scaling::blocks), CheckError);
}

TEST(MetaKernels, CountTheScalesOfAWeightsBlocks) {
    const DeviceProfile profile = published_profiles().front();
    ScheduleRecorder recorder;
    const auto kernels = make_meta_kernels(
        recorder, {.types = {DType::bf16, DType::f32, DType::f32}, .profile = &profile});
    EXPECT_EQ(kernels->prepared_bytes(256, 144, WeightForm::fp8), Bytes{2 * 256 * 144});
    EXPECT_EQ(kernels->prepared_bytes(256, 144, WeightForm::fp8_blocks),
              Bytes{2 * 256 * 144 + 2 * 2 * 2 * 4});
}

TEST(PublishedProfiles, HaveAttentionIn8BitsWhereThePartMultipliesFp8) {
    for (DeviceProfile profile : published_profiles()) {
        SCOPED_TRACE(profile.name);
        const bool has = profile.fp8_peak_flops > 0;
        EXPECT_EQ(computes_attention_8bit(profile), has);
        if (!has) continue;
        const OpWork long_rows{.amount = 1e12, .size = 32768, .head_dim = 128};
        const Seconds seconds = seconds_of(profile, AttentionFwd8::kName, long_rows);
        EXPECT_LT(seconds, seconds_of(profile, AttentionFwd::kName, long_rows));
        EXPECT_GT(seconds.value, long_rows.amount / profile.fp8_peak_flops);
        for (const std::string_view op : {AttentionBwd8::kName, AttentionFwd8::kName}) {
            std::erase_if(profile.ops, [op](const OpSpeed& speed) { return speed.op == op; });
            EXPECT_TRUE(check_profile(profile)) << "older profiles lack " << op;
            EXPECT_FALSE(computes_attention_8bit(profile)) << op;
        }
    }
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
