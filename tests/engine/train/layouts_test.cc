// Every layout trains the same: on `ref` to 1e-10, in working precision within the derived
// tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "tests/support/rig_checks.h"
#include "tests/support/some_cases.h"

namespace rm {
namespace {

using test::RigConfig;
using test::RigResult;

enum class Packing { one_document, packed };
constexpr Packing kPackings[] = {Packing::packed, Packing::one_document};

struct Layout {
    int data = 1;
    int ring = 1;
    int inner = 0;
    int ulysses = 1;
    int tensor = 1;
    int zero = 0;
    int query_heads = 4;
    int kv_heads = 2;
    std::int64_t context = 256;
    std::int64_t sequences = 0;  // 0: one for each data rank
    bool tied = false;
    std::int64_t block = 0;  // elements of embedding and head that travel together
};

std::int64_t sequences_of(const Layout& l) {
    return l.sequences == 0 ? l.data : l.sequences;
}

std::string name_of(const Layout& l) {
    std::string name = format("D{}R{}", l.data, l.ring);
    if (l.inner != 0) name += format("in{}", l.inner);
    name += format("U{}T{}Zero{}Hq{}Hk{}S{}N{}", l.ulysses, l.tensor, l.zero, l.query_heads,
                   l.kv_heads, l.context, sequences_of(l));
    if (l.block != 0) name += format("B{}", l.block);
    return l.tied ? name + "Tied" : name;
}

// Long documents that the ring cuts, short ones, and one of a single token.
std::vector<std::int64_t> some_documents(std::int64_t context) {
    std::vector<std::int64_t> lengths = {37, 1, 90, 5};
    for (const std::int64_t length : lengths)
        context -= length;
    lengths.push_back(context);
    return lengths;
}

RigConfig config_of(const Layout& l, Packing packing, const test::KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    config.model = test::small_model();
    config.model.num_query_heads = l.query_heads;
    config.model.num_kv_heads = l.kv_heads;
    config.model.tied_head = l.tied;
    config.model.hidden = 16;
    config.model.head_dim = 4;
    config.model.feed_forward = 24;
    config.context = l.context;
    config.sequences = sequences_of(l);
    config.mesh = Mesh::make(l.data, l.ring, l.ulysses, l.tensor, l.inner).value();
    config.zero = l.zero;
    config.vocabulary_block = l.block;
    config.steps = test::kSanitized ? 2 : 3;
    config.tile = 192;  // divides by tensors of 1, 2, 3, 4 and 6
    config.chunk = 192;
    if (packing == Packing::packed) config.documents = some_documents(l.context);
    return config;
}

RigConfig alone(RigConfig config) {
    config.mesh = Mesh();
    config.zero = 0;
    return config;
}

// Runs one rank on `ref`, once for all layouts that train the same.
const RigResult& expected_of(const Layout& l, Packing packing) {
    using Key = std::tuple<int, int, std::int64_t, std::int64_t, bool, Packing>;
    static std::map<Key, RigResult> known;
    const Key key{l.query_heads, l.kv_heads, l.context, sequences_of(l), l.tied, packing};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known[key] = run_rig(alone(config_of(l, packing, test::ref_backend())));
}

// Windows of two tiles, which divide few slots: most have a short last chunk.
RigConfig in_windows(RigConfig config, Keep keep = Keep::input_and_attention, double alpha = 0.5) {
    config.tile = 24;  // divides by tensors of 1, 2, 3, 4 and 6
    config.chunk = 48;
    config.memory.kept = KeptPlace::host;
    config.memory.working = WorkingSet::windows;
    config.memory.keep = keep;
    config.memory.alpha = alpha;
    return config;
}

class RefLayouts : public testing::TestWithParam<std::tuple<Layout, Packing>> {};

TEST_P(RefLayouts, TrainAsOneRankDoes) {
    const auto& [layout, packing] = GetParam();
    const RigResult many = run_rig(config_of(layout, packing, test::ref_backend()));
    const RigResult& one = expected_of(layout, packing);
    test::expect_same_training(many, one);
}

TEST_P(RefLayouts, TrainInWindowsAsOneRankDoes) {
    const auto& [layout, packing] = GetParam();
    const RigResult many = run_rig(in_windows(config_of(layout, packing, test::ref_backend())));
    test::expect_same_training(many, expected_of(layout, packing));
}

const Layout kLayouts[] = {
    // One axis each.
    {.data = 2},
    {.data = 3, .sequences = 4},
    {.ring = 3, .context = 288},
    {.ring = 5, .context = 320},
    {.ulysses = 2},
    {.ulysses = 4},
    {.tensor = 2},
    {.tensor = 4, .kv_heads = 4},
    {.tensor = 3, .query_heads = 6, .kv_heads = 3, .context = 288},
    // Key-value heads that are replicated over ulysses, over tensor, over both.
    {.ulysses = 4, .kv_heads = 1},
    {.tensor = 4, .kv_heads = 1},
    {.ulysses = 2, .tensor = 2, .kv_heads = 1},
    {.ulysses = 2, .tensor = 2, .query_heads = 12, .kv_heads = 6},
    {.tensor = 4, .query_heads = 12, .kv_heads = 6},
    {.ulysses = 3, .query_heads = 12, .kv_heads = 4, .context = 288},
    // Double rings.
    {.ring = 4, .inner = 2},
    {.ring = 6, .inner = 3, .context = 384},
    {.ring = 6, .inner = 2, .context = 384},
    {.ring = 4, .inner = 2, .ulysses = 2, .context = 512},
    // ZeRO, with what it shards over.
    {.data = 2, .zero = 1},
    {.data = 2, .zero = 2},
    {.data = 2, .zero = 3},
    {.data = 2, .zero = 2, .sequences = 5},
    {.data = 2, .zero = 3, .sequences = 5},
    {.ring = 3, .zero = 3, .context = 288},
    {.ulysses = 2, .zero = 3},
    {.data = 3, .ring = 2, .zero = 1, .sequences = 3},
    {.data = 2, .zero = 3, .tied = true},
    {.data = 2, .zero = 2, .sequences = 4, .tied = true},
    {.tensor = 2, .tied = true},
    {.data = 2, .tensor = 4, .zero = 3, .kv_heads = 1},
    {.data = 2, .tensor = 4, .zero = 1, .query_heads = 12, .kv_heads = 6},
    // All axes at once.
    {.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 3, .kv_heads = 4},
    {.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 2, .sequences = 3},
    {.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 0},
    {.ring = 5, .tensor = 2, .zero = 2, .context = 320},
    {.ring = 3, .ulysses = 2, .zero = 1, .context = 384, .sequences = 1},
    {.data = 5, .tensor = 2, .zero = 3, .sequences = 3},
    // Padding at the end of the sequence.
    {.ring = 2, .ulysses = 2, .context = 250},
    {.ring = 3, .tensor = 2, .zero = 3, .context = 380},
    {.data = 2, .ring = 4, .inner = 2, .ulysses = 2, .zero = 3, .context = 500, .tied = true},
    // Several blocks of embedding and head: two, three, four, eight; the last one shorter.
    {.data = 2, .zero = 2, .block = 496},
    {.data = 2, .zero = 3, .block = 496},
    {.data = 2, .zero = 3, .sequences = 5, .block = 336},
    {.ring = 3, .zero = 3, .context = 288, .block = 336},
    {.data = 2, .zero = 2, .sequences = 4, .tied = true, .block = 256},
    {.data = 2, .zero = 3, .sequences = 4, .tied = true, .block = 128},
    {.ulysses = 2, .zero = 3, .tied = true, .block = 496},
    {.data = 2, .tensor = 4, .zero = 3, .kv_heads = 1, .block = 128},
    {.data = 5, .tensor = 2, .zero = 3, .sequences = 3, .block = 160},
    {.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 3, .sequences = 3, .block = 256},
    {.data = 2, .ring = 2, .tensor = 2, .zero = 2, .tied = true, .block = 256},
};

INSTANTIATE_TEST_SUITE_P(Layouts, RefLayouts,
                         testing::Combine(testing::ValuesIn(kLayouts),
                                          testing::ValuesIn(test::some(kPackings, 2))),
                         [](const auto& info) {
                             const bool packed = std::get<1>(info.param) == Packing::packed;
                             return name_of(std::get<0>(info.param)) + (packed ? "Packed" : "");
                         });

class CpuLayouts : public testing::TestWithParam<std::tuple<Layout, DType, Packing>> {};

TEST_P(CpuLayouts, FirstGradientsAreWithinTheDerivedTolerance) {
    const auto& [layout, type, packing] = GetParam();
    RigConfig config = config_of(layout, packing, test::ref_backend());
    config.model.hidden = 32;
    config.model.head_dim = 8;
    config.model.feed_forward = 48;
    config.steps = 0;
    const RigResult exact = run_rig(alone(config));
    config.backend = test::cpu_backend(1, type);
    const RigResult one = run_rig(alone(config));
    const RigResult many = run_rig(config);
    test::expect_derived_tolerance(many, one, exact, type);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, CpuLayouts,
    testing::Combine(
        testing::Values(Layout{.ulysses = 2}, Layout{.tensor = 2, .tied = true},
                        Layout{.ulysses = 2, .tensor = 2, .kv_heads = 1},
                        Layout{.ring = 4, .inner = 2}, Layout{.data = 2, .zero = 3, .sequences = 3},
                        Layout{.data = 2, .ring = 2, .ulysses = 2, .tensor = 2, .zero = 3},
                        Layout{.ring = 3, .tensor = 2, .zero = 2, .context = 380},
                        Layout{.data = 2, .zero = 3, .sequences = 3, .tied = true, .block = 512},
                        Layout{.data = 2, .ring = 2, .tensor = 2, .zero = 2, .block = 512}),
        testing::Values(DType::f32, DType::bf16), testing::ValuesIn(test::some(kPackings, 2))),
    [](const auto& info) {
        const bool packed = std::get<2>(info.param) == Packing::packed;
        return name_of(std::get<0>(info.param)) + std::string(to_string(std::get<1>(info.param))) +
               (packed ? "Packed" : "");
    });

class Windows : public testing::TestWithParam<std::tuple<Layout, Packing>> {};

// At one tile size, windows move data and change no bit.
TEST_P(Windows, ChangeNoBit) {
    const auto& [layout, packing] = GetParam();
    for (const DType type : {DType::f32, DType::bf16}) {
        const RigConfig config = config_of(layout, packing, test::cpu_backend(1, type));
        for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
            RigConfig windows = in_windows(config, keep);
            windows.tile = 64;  // cuts that change no bit are at multiples of this
            windows.chunk = 128;
            windows.steps = 2;
            RigConfig whole = windows;
            whole.memory = {};
            const RigResult moved = run_rig(windows), resident = run_rig(whole);
            EXPECT_EQ(moved.losses, resident.losses) << to_string(type);
            EXPECT_EQ(moved.grad_norms, resident.grad_norms) << to_string(type);
            EXPECT_EQ(moved.gradients, resident.gradients) << to_string(type);
            EXPECT_EQ(moved.weights, resident.weights) << to_string(type);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Windows,
    testing::Combine(
        testing::Values(Layout{.ring = 3, .context = 576}, Layout{.ulysses = 2, .context = 384},
                        Layout{.tensor = 2, .context = 384}, Layout{.data = 2, .zero = 3},
                        Layout{.ring = 4, .inner = 2, .ulysses = 2, .context = 1000},
                        Layout{.ring = 6, .inner = 3, .zero = 2, .context = 1152},
                        Layout{.ring = 6, .inner = 2, .context = 1150},
                        Layout{.ulysses = 2, .tensor = 2, .kv_heads = 1, .context = 384},
                        Layout{.ring = 2, .ulysses = 2, .tensor = 2, .zero = 3, .context = 768}),
        testing::ValuesIn(test::some(kPackings, 2))),
    [](const auto& info) {
        return name_of(std::get<0>(info.param)) +
               (std::get<1>(info.param) == Packing::packed ? "Packed" : "");
    });

// With one micro-batch per step, gather and scatter only move data, so no stage changes a bit.
TEST(ZeroStages, ChangeNoBitOfAStep) {
    for (const DType type : {DType::f32, DType::bf16}) {
        test::expect_zero_stages_change_no_bit(config_of(
            {.data = 2, .ring = 2, .tensor = 2}, Packing::packed, test::cpu_backend(1, type)));
    }
}

// The place of an element in the whole tensor determines the rounding of its bf16 moments.
TEST(Bf16Moments, HaveTheSameBitsWhateverTheSharding) {
    RigConfig config =
        config_of({.data = 2}, Packing::one_document, test::cpu_backend(1, DType::bf16));
    config.types.moments = DType::bf16;
    const RigResult plain = run_rig(config);
    config.zero = 3;
    EXPECT_EQ(run_rig(config).weights, plain.weights);
    config.types.moments = std::nullopt;
    EXPECT_NE(run_rig(config).weights, plain.weights);
}

// Only a document's own tokens decide its loss: neither its neighbours in the sequence nor the
// first position change it.
TEST(PackedDocuments, AreTrainedAsIfEachWereAlone) {
    RigConfig config = config_of({.ring = 2}, Packing::packed, test::ref_backend());
    config.steps = 0;
    const RigResult reset = run_rig(config);
    config.positions = Positions::running;
    const RigResult running = run_rig(config);
    // RoPE rotates queries and keys alike, so only differences of positions matter.
    EXPECT_NEAR(running.losses[0], reset.losses[0], 1e-12);
    test::expect_close(running.gradients, reset.gradients, 1e-10);
    config.documents = {config.context};
    EXPECT_GT(std::abs(run_rig(config).losses[0] - reset.losses[0]), 1e-6);
}

}  // namespace
}  // namespace rm
