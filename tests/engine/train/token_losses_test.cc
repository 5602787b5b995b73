// The loss of each token, and what an evaluation adds up by position.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "engine/run/evaluate/position_sums.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

using test::RigConfig;
using testing::ElementsAre;

// A token of a batch: its sequence, its document, its place in the document.
using Place = std::tuple<std::int64_t, std::int32_t, std::int64_t>;

// The losses of all tokens that have a target.
struct Losses {
    double total = 0;
    std::map<Place, double> of_tokens;
};

RigConfig three_documents(const test::KernelsFactory& backend, const Mesh& mesh) {
    RigConfig config{.backend = backend, .mesh = mesh};
    config.model = test::small_model();
    config.context = 384;
    config.sequences = 3;
    config.documents = {40, 300, 44};
    config.tile = 16;
    return config;
}

void add(const RankSpec& spec, std::size_t i, const MicroBatch& micro,
         const std::vector<double>& losses, std::map<Place, double>& of_tokens) {
    const std::int64_t sequence = static_cast<std::int64_t>(i) * spec.mesh.size(Axis::data) +
                                  spec.mesh.coord(spec.rank, Axis::data);
    std::size_t at = 0;
    for (const rm::Run& run : micro.runs.local) {
        for (std::int64_t k = 0; k < run.length; ++k, ++at) {
            if (micro.targets.at(at) == kIgnoreTarget) {
                EXPECT_EQ(losses.at(at), 0);
                continue;
            }
            const Place place{sequence, run.document, run.first + k};
            const auto [found, is_new] = of_tokens.emplace(place, losses.at(at));
            EXPECT_EQ(found->second, losses.at(at)) << "tensor ranks have the same bits";
            EXPECT_TRUE(is_new || spec.mesh.size(Axis::tensor) > 1) << "a token is on one rank";
        }
    }
}

Losses losses_of(const RigConfig& config) {
    Losses all;
    std::mutex mutex;
    test::on_every_engine(config, [&](RankEngine& engine) {
        const StepBatch batch = engine.cut(test::random_sequences(config, 0));
        const TokenLosses losses = engine.trainer().losses(batch);
        const std::lock_guard lock(mutex);
        all.total = losses.total;
        for (std::size_t i = 0; i < batch.micro_batches.size(); ++i)
            add(engine.spec(), i, batch.micro_batches[i], losses.by_micro_batch.at(i),
                all.of_tokens);
    });
    return all;
}

double sum_of(const Losses& losses) {
    return std::accumulate(losses.of_tokens.begin(), losses.of_tokens.end(), 0.0,
                           [](double sum, const auto& of) { return sum + of.second; });
}

struct Case {
    const char* name;
    Mesh mesh;
    MemoryPolicy memory = {};
    std::int64_t vocabulary_block = 0;
};

class TokenLossesOn : public testing::TestWithParam<Case> {};

// In fp64: ranks add up attention and products in other orders, and nothing else differs.
TEST_P(TokenLossesOn, AreThoseOfOneRank) {
    const RigConfig alone = three_documents(test::ref_backend(), Mesh::make(1, 1, 1, 1).value());
    RigConfig config = three_documents(test::ref_backend(), GetParam().mesh);
    config.memory = GetParam().memory;
    config.vocabulary_block = GetParam().vocabulary_block;
    if (config.vocabulary_block > 0) config.zero = 3;
    const Losses expected = losses_of(alone), losses = losses_of(config);
    // The last document goes on in the next sample; the others end.
    ASSERT_EQ(expected.of_tokens.size(), 3u * (384 - 2));
    EXPECT_NEAR(expected.total, sum_of(expected), 1e-9);
    EXPECT_NEAR(losses.total, expected.total, 1e-9);
    ASSERT_EQ(losses.of_tokens.size(), expected.of_tokens.size());
    for (const auto& [place, loss] : expected.of_tokens) {
        ASSERT_GT(loss, 0);
        ASSERT_NEAR(losses.of_tokens.at(place), loss, 1e-11);
    }
}

const MemoryPolicy kWindows = {.kept = KeptPlace::host, .working = WorkingSet::windows};
INSTANTIATE_TEST_SUITE_P(
    Meshes, TokenLossesOn,
    testing::Values(Case{"ring_3", Mesh::make(1, 3, 1, 1).value()},
                    Case{"data_2", Mesh::make(2, 1, 1, 1).value()},
                    Case{"ulysses_2_tensor_2", Mesh::make(1, 1, 2, 2).value()},
                    Case{"windows", Mesh::make(1, 1, 1, 1).value(), kWindows},
                    Case{"ring_2_in_windows", Mesh::make(1, 2, 1, 1).value(), kWindows},
                    Case{"blocks", Mesh::make(2, 1, 1, 1).value(), {}, 512},
                    Case{"blocks_tensor_2", Mesh::make(2, 1, 1, 2).value(), {}, 512}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PositionSums, AreMeansOfRangesThatDouble) {
    MicroBatch batch;
    batch.contexts = {0, 1, 16, 17, 32, 33, 100, 128, 0};
    const std::vector<double> losses = {0, 4, 2, 8, 6, 5, 1, 2, 0};
    PositionSums sums(128);
    sums.add(batch, losses);
    EXPECT_THAT(sums.means(), ElementsAre(PositionLoss{1, 2, 3}, PositionLoss{17, 2, 7},
                                          PositionLoss{33, 1, 5}, PositionLoss{65, 2, 1.5}));
    sums.add(batch, losses);
    EXPECT_THAT(sums.means(), testing::Contains(PositionLoss{65, 4, 1.5}));
}

TEST(PositionSums, AreFewForAMillionTokens) {
    EXPECT_EQ(PositionSums(1 << 20).numbers().size(), 2u * 17);
    EXPECT_EQ(PositionSums(1).numbers().size(), 2u);
}

}  // namespace
}  // namespace rm
