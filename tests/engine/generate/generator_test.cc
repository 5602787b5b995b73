// Decoding with a cache: every logit is what a forward pass over the whole sequence gives.
#include "engine/generate/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/engine/train/device_backend.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

using test::RigConfig;

constexpr std::int64_t kTokens = 224;  // of the sequence, besides the last target

RigConfig config_of(const test::KernelsFactory& backend, const Mesh& mesh) {
    RigConfig config{.backend = backend, .mesh = mesh};
    config.model = test::small_model();
    config.context = kTokens;
    config.tile = 16;
    config.chunk = 32;
    config.types.weights_only = true;
    return config;
}

// The oracle: a forward pass of one rank gives the loss of each token but the first.
std::vector<double> losses_of_one_pass(const test::KernelsFactory& backend) {
    const RigConfig config = config_of(backend, Mesh::make(1, 1, 1, 1).value());
    std::vector<double> losses;
    test::on_every_engine(config, [&](RankEngine& engine) {
        const StepBatch batch = engine.cut(test::random_sequences(config, 0));
        losses = engine.trainer().losses(batch).by_micro_batch.at(0);
    });
    losses.resize(kTokens);
    return losses;
}

double loss_of(std::span<const double> logits, std::int32_t target) {
    double most = -INFINITY, sum = 0;
    for (const double logit : logits)
        most = std::max(most, logit);
    for (const double logit : logits)
        sum += std::exp(logit - most);
    return most + std::log(sum) - logits[usize(target)];
}

// Rank 0's loss of every token after a prompt, decoded one by one.
std::vector<double> decoded_losses(const RigConfig& config, std::int64_t prompt_tokens) {
    std::vector<double> losses;
    std::mutex mutex;
    test::on_every_engine(config, [&](RankEngine& engine) {
        Meeting meeting(test::meeting_of(engine), engine.streams());
        Generator generator(engine, meeting);
        RigConfig whole = config;
        whole.context = kTokens;
        whole.sequences = 1;
        const std::vector<std::int32_t> tokens = test::random_sequences(whole, 0)[0].tokens;
        generator.begin(std::span(tokens).first(usize(prompt_tokens)));
        for (std::int64_t i = prompt_tokens - 1; i < kTokens; ++i) {
            const auto logits = generator.next(tokens[usize(i)]);
            if (engine.spec().rank != 0) continue;
            losses.push_back(loss_of(logits, tokens[usize(i + 1)]));
        }
    });
    return losses;
}

void expect_same(const std::vector<double>& expected, const std::vector<double>& decoded,
                 std::int64_t prompt_tokens, double tolerance) {
    ASSERT_EQ(std::ssize(decoded), kTokens - prompt_tokens + 1);
    for (std::size_t i = 0; i < decoded.size(); ++i)
        ASSERT_NEAR(decoded[i], expected.at(usize(prompt_tokens - 1) + i), tolerance) << i;
}

struct Case {
    const char* name;
    Mesh mesh;
    MemoryPolicy memory = {};
    std::int64_t vocabulary_block = 0;
    int zero = 0;
};

class GeneratorOn : public testing::TestWithParam<Case> {
protected:
    static RigConfig config(const test::KernelsFactory& backend) {
        RigConfig config = config_of(backend, GetParam().mesh);
        config.memory = GetParam().memory;
        config.vocabulary_block = GetParam().vocabulary_block;
        config.zero = GetParam().zero;
        return config;
    }
};

TEST_P(GeneratorOn, GivesTheLogitsOfOnePassOverAll) {
    const std::vector<double> expected = losses_of_one_pass(test::ref_backend());
    // A prompt of one token leaves the prompt's cache empty; 150 is no multiple of any tile.
    for (const std::int64_t prompt : {1, 150}) {
        SCOPED_TRACE(prompt);
        RigConfig on = config(test::ref_backend());
        on.context = GetParam().mesh.size(Axis::ring) == 3
                         ? 192
                         : 256;  // longer than the prompt: the rest is padding
        on.new_tokens = kTokens - prompt + 1;
        expect_same(expected, decoded_losses(on, prompt), prompt, 1e-11);
    }
}

const MemoryPolicy kWindows = {.kept = KeptPlace::host, .working = WorkingSet::windows};
INSTANTIATE_TEST_SUITE_P(
    Meshes, GeneratorOn,
    testing::Values(Case{"one_rank", Mesh::make(1, 1, 1, 1).value()},
                    Case{"ring_3", Mesh::make(1, 3, 1, 1).value()},
                    Case{"double_ring", Mesh::make(1, 4, 1, 1, 2).value()},
                    Case{"data_2_zero_3", Mesh::make(2, 1, 1, 1).value(), {}, 0, 3},
                    Case{"ulysses_2_tensor_2", Mesh::make(1, 1, 2, 2).value()},
                    Case{"ring_2_tensor_2_zero_1", Mesh::make(1, 2, 1, 2).value(), {}, 0, 1},
                    Case{"windows", Mesh::make(1, 1, 1, 1).value(), kWindows},
                    Case{"ring_2_ulysses_2_in_windows", Mesh::make(1, 2, 2, 1).value(), kWindows},
                    Case{"blocks", Mesh::make(2, 1, 1, 1).value(), {}, 512, 3},
                    Case{"blocks_tensor_2", Mesh::make(2, 1, 1, 2).value(), {}, 512, 3}),
    [](const auto& info) { return std::string(info.param.name); });

// In bf16, where one pass and decoding round in other places.
TEST(Generator, DecodesOnTheDevice) {
    if (!test::has_device_backend()) GTEST_SKIP() << "no device kernels in this build";
    const std::vector<double> exact = losses_of_one_pass(test::ref_backend());
    const std::vector<double> pass = losses_of_one_pass(test::device_backend());
    const auto worst = [&](const std::vector<double>& losses, std::int64_t first) {
        double most = 0;
        for (std::size_t i = 0; i < losses.size(); ++i)
            most = std::max(most, std::abs(losses[i] - exact.at(usize(first) + i)));
        return most;
    };
    for (const Mesh& mesh : {Mesh::make(1, 2, 1, 1).value(), Mesh::make(1, 1, 2, 2).value()}) {
        RigConfig config = config_of(test::device_backend(), mesh);
        config.context = 256;
        config.new_tokens = 32;
        const std::int64_t prompt = kTokens - 31;
        EXPECT_LE(worst(decoded_losses(config, prompt), prompt - 1), 2 * worst(pass, 0));
    }
}

TEST(Generator, TakesOneDocumentAfterAnother) {
    const auto mesh = Mesh::make(1, 2, 1, 1).value();
    RigConfig config = config_of(test::cpu_backend(1), mesh);
    config.context = 256;
    config.new_tokens = 8;
    test::on_every_engine(config, [&](RankEngine& engine) {
        Meeting meeting(test::meeting_of(engine), engine.streams());
        Generator generator(engine, meeting);
        const std::vector<std::int32_t> tokens = test::random_sequences(config, 0)[0].tokens;
        const auto answer = [&](std::size_t length) {
            generator.begin(std::span(tokens).first(length));
            const auto logits = generator.next(tokens[length - 1]);
            return std::vector<double>(logits.begin(), logits.end());
        };
        const std::vector<double> first = answer(90);
        EXPECT_NE(answer(40), first);
        EXPECT_EQ(answer(90), first) << "nothing is left of the documents before";
        EXPECT_EQ(generator.agree(engine.spec().rank == 0 ? 11 : 99), 11);
    });
}

TEST(Generator, NeedsNoMemoryForGradientsAndMoments) {
    RigConfig config = config_of(test::cpu_backend(1), Mesh::make(1, 1, 1, 1).value());
    config.new_tokens = 8;
    test::on_every_engine(config, [&](RankEngine& engine) {
        const Device& device = engine.streams().kernels.device();
        EXPECT_GT(device.allocated(MemoryKind::weights).value, 0);
        EXPECT_EQ(device.allocated(MemoryKind::gradients).value, 0);
        EXPECT_EQ(device.allocated(MemoryKind::optimizer).value, 0);
    });
}

}  // namespace
}  // namespace rm
