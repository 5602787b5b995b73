#include "spec/model_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(ModelPreset, CountsTheParametersOfLlama3) {
    // meta-llama/Meta-Llama-3-8B: 8,030,261,248 parameters.
    EXPECT_EQ(find_preset("llama3-8b").value().num_parameters(), 8'030'261'248);
    // meta-llama/Meta-Llama-3-70B: 70,553,706,496.
    EXPECT_EQ(find_preset("llama3-70b").value().num_parameters(), 70'553'706'496);
}

TEST(ModelPreset, ATiedHeadIsCountedOnce) {
    ModelConfig model = find_preset("micro").value();
    const std::int64_t untied = model.num_parameters();
    model.tied_head = true;
    EXPECT_EQ(untied - model.num_parameters(), model.vocabulary * model.hidden);
}

TEST(ModelPreset, AllFitTheirOwnHeads) {
    for (const std::string& name : preset_names()) {
        const ModelConfig model = find_preset(name).value();
        EXPECT_EQ(model.num_query_heads % model.num_kv_heads, 0) << name;
        EXPECT_EQ(model.head_dim % 2, 0) << name << ": rotary pairs";
        EXPECT_TRUE(check_mesh(Mesh(), model.dims()).ok()) << name;
    }
}

TEST(ModelPreset, ErrorsListTheNames) {
    const auto unknown = find_preset("gpt5");
    ASSERT_FALSE(unknown);
    for (const std::string& name : preset_names()) {
        EXPECT_THAT(unknown.error().message, HasSubstr(name));
    }
}

TEST(TrainingFlops, AreSixPerWeightAndTokenPlusAttention) {
    const ModelConfig model{.vocabulary = 10,
                            .hidden = 8,
                            .num_layers = 3,
                            .num_query_heads = 4,
                            .num_kv_heads = 2,
                            .head_dim = 2,
                            .feed_forward = 5};
    // Norm weights and the embedding look-up multiply nothing.
    const double matrix_weights = 3 * (8 * 8 + 8 * 4 + 8 * 4 + 8 * 8 + 3 * 8 * 5) + 10 * 8;
    EXPECT_DOUBLE_EQ(training_flops(model, 100, 0), 6 * 100 * matrix_weights);
    // Per pair, layer and head: 2 products of D, forward; twice that backward.
    EXPECT_DOUBLE_EQ(training_flops(model, 0, 50), 50 * 3 * 4 * 12 * 2);
}

}  // namespace
}  // namespace rm
