// Embedding and head are cut over the ZeRO group by blocks of rows: no rank holds more of them than
// its share and a block.
#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/model/whole_weights.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/rig_checks.h"

namespace rm {
namespace {

using test::RigConfig;
using test::RigResult;

// A vocabulary with as many elements as `layers` layers.
ModelConfig model_with(std::int64_t layers) {
    constexpr std::int64_t kRowsOfLayer = 240;  // rows of C that have the elements of a layer
    ModelConfig model = test::small_model();
    model.vocabulary = layers * kRowsOfLayer;
    return model;
}

struct Layout {
    const char* name;
    Mesh mesh;
    int zero = 3;
    OptimizerPlace place = OptimizerPlace::device;
    bool tied = false;
};

// Memory that a rank holds besides its share of the state, and besides what is as long as a norm.
struct Held {
    Bytes weights, gradients;
};

class BoundedVocabulary : public testing::TestWithParam<Layout> {
protected:
    BoundedVocabulary() : kernels_(make_cpu_kernels({.num_threads = 1, .compute = DType::bf16})) {}

    static RankSpec spec_of(const ModelConfig& model, Kernels& kernels) {
        RankSpec spec{.model = model, .mesh = GetParam().mesh, .zero = GetParam().zero};
        spec.model.tied_head = GetParam().tied;
        if (GetParam().place == OptimizerPlace::host) spec.host = &kernels;
        return spec;
    }
    // Everything the rank ever takes of these kinds, arenas apart.
    Held held(const ModelConfig& model) const {
        const RankSpec spec = spec_of(model, *kernels_);
        DryRank rank(spec, {.types = kernels_->types(), .like = kernels_.get()});
        RM_CHECK(rank.enter({256, {.tile_tokens = 64, .chunk_tokens = 64}, model.rope}).ok(), "");
        rank.step(2);
        const WeightState& state = rank.engine().state();
        const auto allocated = [&](MemoryKind kind) { return rank.device().allocated(kind); };
        Held held{allocated(MemoryKind::weights), allocated(MemoryKind::gradients)};
        const std::int64_t part = state.table().unit_elements / state.share().zero_size;
        const std::int64_t norms = state.table().norm_elements;
        held.weights.value -= (norms + (spec.host == nullptr ? part : 0)) * 4;
        held.gradients.value -= (norms + (spec.host == nullptr ? part : 0)) * 4;
        if (spec.host != nullptr) held.weights.value -= part * 2;  // uploaded
        return held;
    }

    std::unique_ptr<Kernels> kernels_;
};

// Weights are gathered in bf16 and prepared, gradients formed in f32.
TEST_P(BoundedVocabulary, TakesTwoLayersAndABlockOfTheHeadBesideAShare) {
    const ModelConfig model = model_with(4);
    const ParameterTable table = make_parameters(model, make_weight_share(GetParam().mesh, 0, 3));
    ASSERT_EQ(table.vocabulary_blocks, 4);
    const auto& all = table.all;
    const LayerParameters& l = table.layers[0];
    Bytes prepared =
        kernels_->prepared_bytes(all[static_cast<std::size_t>(table.head)].rows_of_block(0).count,
                                 model.hidden, WeightForm::compute);
    for (const int i : {l.q, l.k, l.v, l.o, l.gate, l.up, l.down}) {
        const auto& shape = all[static_cast<std::size_t>(i)].part_shape;
        prepared += kernels_->prepared_bytes(shape[0], shape[1], WeightForm::compute);
    }
    const std::int64_t layer =
        table.units[static_cast<std::size_t>(table.layer_unit(0))].num_elements;
    const Held beside = held(model);
    EXPECT_EQ(beside.weights.value, 2 * layer * 2 + prepared.value);
    EXPECT_EQ(beside.gradients.value, 2 * layer * 4);
}

TEST_P(BoundedVocabulary, TakesNoMoreForALongerOne) {
    const Held four = held(model_with(4)), eight = held(model_with(8));
    EXPECT_EQ(eight.weights, four.weights);
    EXPECT_EQ(eight.gradients, four.gradients);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, BoundedVocabulary,
    testing::Values(Layout{"Data", Mesh::make(2, 1, 1, 1).value()},
                    Layout{"Tied", Mesh::make(4, 1, 1, 1).value(), 3, OptimizerPlace::device, true},
                    Layout{"Tensor", Mesh::make(2, 1, 1, 2).value()},
                    Layout{"Ring", Mesh::make(1, 2, 2, 1).value()},
                    Layout{"HostState", Mesh::make(2, 1, 1, 1).value(), 3, OptimizerPlace::host}),
    [](const auto& info) { return info.param.name; });

// A block is at most as long as a layer, unless a test says otherwise.
TEST(VocabularyBlocks, FollowFromTheModel) {
    const Mesh mesh = Mesh::make(8, 1, 1, 1).value();
    for (const auto& [preset, blocks] : {std::pair{"llama3-8b", 3}, {"llama3-70b", 2}}) {
        const ModelConfig model = find_preset(preset).value();
        for (const int stage : {0, 1, 2, 3}) {
            const ParameterTable table = make_parameters(model, make_weight_share(mesh, 0, stage));
            EXPECT_EQ(table.vocabulary_blocks, stage < 2 ? 1 : blocks) << preset << stage;
        }
    }
}

// Ranks of a tensor group meet once for each block, whatever rows they have.
TEST(VocabularyBlocks, AreAsManyOnEveryTensorRankAndCoverEachRowOnce) {
    ModelConfig model = test::small_model();
    for (model.vocabulary = 30; model.vocabulary < 90; ++model.vocabulary) {
        for (const std::int64_t block : {32, 100, 256, 512, 1000, 4000}) {
            const Mesh mesh = Mesh::make(3, 1, 1, 4).value();
            std::int64_t next = 0;
            int blocks = 0;
            for (int rank = 0; rank < 4; ++rank) {
                WeightShare share = make_weight_share(mesh, rank, 3);
                share.vocabulary_block = block;
                const ParameterTable table = make_parameters(model, share);
                if (rank == 0) blocks = table.vocabulary_blocks;
                ASSERT_EQ(table.vocabulary_blocks, blocks);
                const Parameter& p = table.all[static_cast<std::size_t>(table.head)];
                for (int b = 0; b < blocks; ++b) {
                    ASSERT_EQ(p.part_start + p.rows_of_block(b).first, next);
                    ASSERT_GT(p.rows_of_block(b).count, 0);
                    next += p.rows_of_block(b).count;
                }
            }
            ASSERT_EQ(next, model.vocabulary);
        }
    }
}

// The default size of a block: several, and the same training.
TEST(VocabularyBlocks, OfALongVocabularyTrainAsOneRankDoes) {
    RigConfig config;
    config.backend = test::ref_backend();
    config.model = model_with(3);
    config.sequences = 4;
    config.steps = 2;
    const RigResult one = run_rig(config);
    config.mesh = Mesh::make(2, 1, 1, 1).value();
    for (config.zero = 2; config.zero <= 3; ++config.zero) {
        for (const bool host : {false, true}) {
            config.host = host ? config.backend : test::KernelsFactory();
            test::expect_same_training(run_rig(config), one);
        }
    }
}

// A mesh with several blocks.
RigConfig many_blocks(std::int64_t sequences) {
    RigConfig config{.backend = test::cpu_backend(1), .mesh = Mesh::make(2, 1, 1, 2).value()};
    config.model = test::small_model();
    config.context = 256;
    config.sequences = sequences;
    config.zero = 3;
    config.vocabulary_block = 512;
    return config;
}

// An evaluation has the bits of the loss that is trained, at any time.
TEST(ManyBlocks, AreEvaluatedAsTheyAreTrained) {
    const RigConfig config = many_blocks(4);
    test::on_every_engine(config, [&](RankEngine& engine) {
        const StepBatch micro_batches = engine.cut(test::random_sequences(config, 0));
        const auto targets = static_cast<double>(micro_batches.num_targets);
        for (int step = 1; step <= 2; ++step) {
            const double before = engine.trainer().losses(micro_batches).total;
            const OptimizerStep optimizer{.learning_rate = 1e-2, .step = step};
            const double loss =
                engine.trainer().step(micro_batches, optimizer, Trainer::Wish::none).loss;
            EXPECT_EQ(loss, before / targets);
            EXPECT_LT(engine.trainer().losses(micro_batches).total, before);
        }
    });
}

// A pass without a loss leaves nothing behind that the next pass would take for its own.
TEST(ManyBlocks, AreNotFetchedForHiddenStates) {
    const RigConfig config = many_blocks(2);
    test::on_every_engine(config, [&](RankEngine& engine) {
        const StepBatch one = engine.cut(test::random_sequences(config, 0));
        const double before = engine.trainer().losses(one).total;
        const RankShapes shapes(engine.spec().model, engine.layout());
        Kernels& kernels = engine.streams().kernels;
        const Tensor hidden(kernels.device(), MemoryKind::workspace, kernels.types().compute,
                            {shapes.Ts, shapes.C});
        engine.model().queue_hidden(one.micro_batches[0].runs, hidden);
        EXPECT_EQ(engine.trainer().losses(one).total, before);
    });
}

TEST(ManyBlocks, AreExportedWhole) {
    const auto kernels = test::cpu_backend(1)();
    WeightState alone(*kernels, test::small_model());
    alone.initialize(1);
    test::on_every_engine(many_blocks(1), [&](RankEngine& engine) {
        WholeWeights whole(&engine.streams(), engine.state());
        if (engine.spec().rank != 0) return whole.serve();
        for (int i = 0; i < static_cast<int>(alone.table().all.size()); ++i) {
            const auto* expected = alone.weight(i).as<float>();
            const Status read = whole.read(i, [&](std::int64_t first, const TensorView& block) {
                const auto* values = block.as<float>();
                EXPECT_TRUE(std::equal(values, values + block.num_elements(), expected + first))
                    << alone.parameter(i).name;
                return Status();
            });
            EXPECT_TRUE(read.ok());
        }
    });
}

}  // namespace
}  // namespace rm
