// A rank that ended during an upload of weights freed the memory they were for: members are
// destroyed in reverse order, and the buffers were declared after the stream.
#include <gtest/gtest.h>

#include "engine/comm/transport/transport.h"
#include "engine/train/rank_engine.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

// Large enough to be mapped on its own: a write after its end crashes.
constexpr std::int64_t kVocabulary = 80'000;

TEST(Regress0003, ARankEndsAfterTheWeightsThatAreOnTheirWay) {
    const auto kernels = make_cpu_kernels({.num_threads = 1});
    const ModelConfig model{.vocabulary = kVocabulary,
                            .hidden = 128,
                            .num_layers = 1,
                            .num_query_heads = 2,
                            .num_kv_heads = 2,
                            .head_dim = 64,
                            .feed_forward = 128,
                            .tied_head = true};
    for (int i = 0; i < 3; ++i) {
        ProgressPage progress{};
        const auto transport = make_local_transport(make_local_hub(1), {});
        RankEngine engine(*kernels, *transport, progress, {.model = model, .host = kernels.get()});
        engine.state().initialize(1);
        const StageShape shape{64, {.tile_tokens = 64, .chunk_tokens = 64}, model.rope};
        ASSERT_TRUE(engine.enter(shape).ok());
    }
}

}  // namespace
}  // namespace rm
