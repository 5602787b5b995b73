#include "topology/step_traffic.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

const CommPhase* phase_of(const StepTraffic& traffic, Axis axis, Pattern pattern) {
    for (const CommPhase& phase : traffic) {
        if (phase.axis == axis && phase.pattern == pattern) return &phase;
    }
    return nullptr;
}

// The letters of docs/communication.md by hand: llama3-8b has C 4096, D 128, L 32, Hq 32, Hk 8.
TEST(StepTraffic, IsWhatTheFormulasSay) {
    const ModelConfig model = find_preset("llama3-8b").value();
    const Mesh mesh = Mesh::make(2, 4, 2, 2).value();
    const StepTraffic traffic =
        step_traffic(model, mesh, {.context = 65536, .batch = 262144, .zero = 1});
    const std::int64_t S = 16384, T = 8192, M = 2, hq = 8, hk = 2, D = 128, L = 32;
    const std::int64_t b = 2 * S * hk * D;
    EXPECT_EQ(phase_of(traffic, Axis::ring, Pattern::ring)->bytes.value,
              M * L * b * 3 * (2 * 2 + 4));
    EXPECT_EQ(phase_of(traffic, Axis::ulysses, Pattern::all_to_all)->bytes.value,
              M * L *
                  (T * hq * D * 2 + 2 * T * hk * D * 2 + T * hq * D * 2 + T * hq * D * 2 +
                   T * hq * 4 + T * hq * D * 2 + 2 * T * hk * D * 4));
    const std::int64_t x = T * 4096 * 2 / 2;
    EXPECT_EQ(phase_of(traffic, Axis::tensor, Pattern::ring)->bytes.value, M * (L * 6 + 2) * x);
    EXPECT_EQ(phase_of(traffic, Axis::tensor, Pattern::all_to_all)->bytes.value,
              M * (L * 4 + 2) * x);
    const double z = static_cast<double>(model.num_parameters()) / 2 * 15 / 16;
    EXPECT_NEAR(static_cast<double>(phase_of(traffic, Axis::data, Pattern::ring)->bytes.value),
                z * 4 + z * 2, 1e3);
}

// A head is 128 codes and 4 bytes, a token 4096 and 4.
TEST(StepTraffic, CountsCodesOfMessagesInFp8) {
    const ModelConfig model = find_preset("llama3-8b").value();
    const StepTraffic traffic =
        step_traffic(model, Mesh::make(1, 1, 2, 2).value(),
                     {.context = 65536, .messages = {MessageNumbers::fp8, MessageNumbers::fp8}});
    const std::int64_t T = 32768, L = 32, hq = 8, hk = 2;
    EXPECT_EQ(phase_of(traffic, Axis::ulysses, Pattern::all_to_all)->bytes.value,
              L * T * (132 * (4 * hq + 4 * hk) + hq * 4));
    EXPECT_EQ(phase_of(traffic, Axis::tensor, Pattern::ring)->bytes.value,
              T / 2 * (L * 6 * 4100 + 2 * 4096 * 2));
    EXPECT_EQ(phase_of(traffic, Axis::tensor, Pattern::all_to_all)->bytes.value,
              T / 2 * (L * 4 + 2) * 4096 * 2);
}

TEST(StepTraffic, OfGradientsInBf16IsHalfOfTheirsAndOncePerMicroBatch) {
    const ModelConfig model = find_preset("llama3-8b").value();
    const auto bytes = [&](int zero, int gradient_bytes) {
        const StepTraffic traffic = step_traffic(model, Mesh::make(8, 1, 1, 1).value(),
                                                 {.context = 65536,
                                                  .batch = 16 * 65536,
                                                  .zero = zero,
                                                  .gradient_bytes = gradient_bytes});
        return phase_of(traffic, Axis::data, Pattern::ring)->bytes.value;
    };
    const std::int64_t z = model.num_parameters() / 8 * 7, micro_batches = 2;
    EXPECT_EQ(bytes(2, 4) - bytes(2, 2), micro_batches * z * 2);
    EXPECT_EQ(bytes(0, 2), bytes(2, 2));
}

TEST(StepTraffic, OfADoubleRingGoesRoundBoth) {
    const ModelConfig model = find_preset("llama3-8b").value();
    const StepTraffic traffic =
        step_traffic(model, Mesh::make(1, 8, 1, 1, 4).value(), {.context = 65536});
    const CommPhase* ring = phase_of(traffic, Axis::ring, Pattern::ring);
    const std::int64_t b = std::int64_t{2} * 8192 * 8 * 128;
    EXPECT_EQ(ring->bytes.value, 32 * 2 * 3 * b * (2 * 2 + 4));
    EXPECT_EQ(ring->outer_bytes.value, 32 * 1 * b * (2 * 2 + 4));
}

TEST(StepTraffic, OfAxesOfOneIsNone) {
    const ModelConfig model = find_preset("llama3-8b").value();
    EXPECT_TRUE(step_traffic(model, Mesh::make(1, 1, 1, 1).value(), {.context = 65536}).empty());
    EXPECT_EQ(phase_of(step_traffic(model, Mesh::make(1, 2, 1, 1).value(), {.context = 65536}),
                       Axis::tensor, Pattern::ring),
              nullptr);
}

}  // namespace
}  // namespace rm
