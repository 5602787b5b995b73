#include "engine/hf/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/durable_file.h"
#include "engine/hf/directory.h"
#include "engine/model/rope.h"
#include "kernels/bf16.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/engine/hf/sample_directory.h"

namespace rm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class HfExportTest : public testing::Test {
protected:
    HfExport options(const std::string& name, StorageType dtype = StorageType::f32) const {
        return {.path = dir_ / name, .dtype = dtype, .context = 64};
    }
    Status write(const HfExport& options) { return write(options, model_); }
    Status write(const HfExport& options, const ModelConfig& model) {
        return export_weights(options, model, sample_.weights, faults_);
    }
    HfDirectory open(const std::string& name) const {
        auto directory = HfDirectory::open(dir_ / name);
        EXPECT_TRUE(directory.ok()) << (directory ? "" : directory.error().message);
        return std::move(*directory);
    }
    static std::vector<float> load(const HfDirectory& directory) {
        SampleWeights other(directory.model(), 2);
        EXPECT_TRUE(load_hf_weights(directory, other.weights).ok());
        return values_of(other.weights);
    }

    TempDir dir_;
    const ModelConfig model_ = tiny_llama();
    SampleWeights sample_{model_};
    Faults faults_;
};

TEST_F(HfExportTest, F32LoadsBackBitForBit) {
    ASSERT_TRUE(write(options("out")).ok());
    EXPECT_EQ(open("out").model(), model_);
    EXPECT_EQ(load(open("out")), values_of(sample_.weights));
    EXPECT_THAT(file_names(dir_ / "out"), ElementsAre("config.json", "model.safetensors"));
}

TEST_F(HfExportTest, Bf16LoadsBackRoundedOnce) {
    ASSERT_TRUE(write(options("out", StorageType::bf16)).ok());
    std::vector<float> expected = values_of(sample_.weights);
    for (float& x : expected)
        x = from_bf16(to_bf16(x));
    EXPECT_EQ(load(open("out")), expected);
    EXPECT_EQ(open("out").config().text["torch_dtype"], "bfloat16");
}

TEST_F(HfExportTest, ShardsHoldAtMostTheirSizeOrOneTensor) {
    HfExport sharded = options("out");
    sharded.max_shard = {3000};
    ASSERT_TRUE(write(sharded).ok());
    EXPECT_EQ(load(open("out")), values_of(sample_.weights));
    int num_shards = 0;
    for (const std::string& name : file_names(dir_ / "out")) {
        if (!name.ends_with(".safetensors")) continue;
        ++num_shards;
        const auto file = SafetensorsFile::open(dir_ / ("out/" + name));
        ASSERT_TRUE(file.ok());
        const auto& entries = file->header().entries;
        EXPECT_TRUE(entries.size() == 1 || entries.back().end <= 3000) << name;
        EXPECT_EQ(file->header().metadata.at("format"), "pt");
    }
    EXPECT_GT(num_shards, 3);
    EXPECT_THAT(file_names(dir_ / "out"),
                Contains(format("model-00001-of-{:05}.safetensors", num_shards)));
}

TEST_F(HfExportTest, ATiedHeadIsWrittenOnce) {
    ModelConfig tied = model_;
    tied.tied_head = true;
    const SampleWeights sample(tied);
    ASSERT_TRUE(export_weights(options("out"), tied, sample.weights, faults_).ok());
    const HfDirectory directory = open("out");
    EXPECT_FALSE(directory.has("lm_head.weight"));
    EXPECT_TRUE(directory.model().tied_head);
    EXPECT_EQ(load(directory), values_of(sample.weights));
}

TEST_F(HfExportTest, CarriesTheSourcesOtherFilesAndNoWeights) {
    ASSERT_TRUE(write(options("source")).ok());
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                             "special_tokens_map.json", "LICENSE", "pytorch_model.bin",
                             "pytorch_model.bin.index.json", "x.gguf", ".hidden", "original/a"}) {
        dir_.write("source/" + std::string(name), name);
    }
    HfExport from = options("out");
    from.source = dir_ / "source";
    ASSERT_TRUE(write(from).ok());
    EXPECT_THAT(file_names(dir_ / "out"),
                ElementsAre("LICENSE", "config.json", "generation_config.json", "model.safetensors",
                            "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"));
    EXPECT_EQ(read_file(dir_ / "out/tokenizer.json").value(), "tokenizer.json");
}

TEST_F(HfExportTest, CarriesTheTokenizerTrainedWithInsteadOfTheSources) {
    ASSERT_TRUE(write(options("source")).ok());
    dir_.write("source/tokenizer.json", "of the source");
    dir_.write("source/tokenizer_config.json", "of the source");
    dir_.write("source/LICENSE", "of the source");
    dir_.write("words/llama.json", "trained with");
    HfExport from = options("out");
    from.source = dir_ / "source";
    from.tokenizer = dir_ / "words/llama.json";
    ASSERT_TRUE(write(from).ok());
    EXPECT_THAT(file_names(dir_ / "out"),
                ElementsAre("LICENSE", "config.json", "model.safetensors", "tokenizer.json"));
    EXPECT_EQ(read_file(dir_ / "out/tokenizer.json").value(), "trained with");
}

TEST_F(HfExportTest, ANewModelGetsTheFilesOfItsTokenizersDirectory) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "model.bin"})
        dir_.write("words/" + std::string(name), name);
    HfExport to = options("out");
    to.tokenizer = dir_ / "words";
    ASSERT_TRUE(write(to).ok());
    EXPECT_THAT(file_names(dir_ / "out"), ElementsAre("config.json", "model.safetensors",
                                                      "tokenizer.json", "tokenizer_config.json"));
}

TEST_F(HfExportTest, WritesTheRotaryEmbeddingTrainedWith) {
    ModelConfig trained = model_;
    trained.rope = {.type = RopeType::yarn, .theta = 5e6, .factor = 4, .original_context = 32};
    HfExport longer = options("out");
    longer.context = 128;
    ASSERT_TRUE(write(longer, trained).ok());
    const ModelConfig read = open("out").model();
    EXPECT_EQ(read.max_positions, 128);
    const RopeFrequencies expected = rope_frequencies(trained.rope, 8, 128);
    const RopeFrequencies actual = rope_frequencies(read.rope, 8, 128);
    EXPECT_EQ(actual.inv_freq, expected.inv_freq);
    EXPECT_EQ(actual.attention_factor, expected.attention_factor);
}

TEST_F(HfExportTest, DynamicScalingKeepsTheLengthItComputesWith) {
    ModelConfig trained = model_;
    trained.rope = {.type = RopeType::dynamic, .factor = 2, .original_context = 64};
    HfExport longer = options("out");
    longer.context = 256;
    ASSERT_TRUE(write(longer, trained).ok());
    EXPECT_EQ(open("out").model().rope, trained.rope);
}

TEST_F(HfExportTest, ReplacesAnEarlierExportAndNothingElse) {
    ASSERT_TRUE(write(options("out", StorageType::bf16)).ok());
    ASSERT_TRUE(write(options("out")).ok());
    EXPECT_EQ(load(open("out")), values_of(sample_.weights));
    std::filesystem::create_directories(dir_ / "empty");
    EXPECT_TRUE(write(options("empty")).ok());
    dir_.write("precious/thesis.txt", "years");
    const Status refused = write(options("precious"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
    EXPECT_THAT(refused.error().message, HasSubstr("precious: something is there"));
    EXPECT_EQ(read_file(dir_ / "precious/thesis.txt").value(), "years");
    write_config(dir_ / "model", model_);
    write_tensors(dir_ / "model/model.safetensors", entries_of(model_));
    EXPECT_FALSE(write(options("model"))) << "somebody's model";
    dir_.write("file", "x");
    EXPECT_FALSE(write(options("file")));
}

TEST_F(HfExportTest, RefusesTheDirectoryItStartedFrom) {
    ASSERT_TRUE(write(options("out")).ok());
    HfExport same = options("out/");
    same.source = dir_ / "out";
    EXPECT_THAT(write(same).error().message, HasSubstr("the model started from there"));
}

TEST_F(HfExportTest, AFailureLeavesTheEarlierExportAndTheNextOneCleansUp) {
    ASSERT_TRUE(write(options("out")).ok());
    const std::vector<float> before = load(open("out"));
    SampleWeights other(model_, 7);
    for (const char* point :
         {"checkpoint.full@2", "checkpoint.write@3", "checkpoint.fsync@2", "checkpoint.rename@1"}) {
        Faults faults(Faults::parse(point).value());
        try {
            EXPECT_FALSE(export_weights(options("out"), model_, other.weights, faults)) << point;
        } catch (const InjectedFault&) {
        }
        EXPECT_EQ(load(open("out")), before) << point;
    }
    ASSERT_TRUE(export_weights(options("out"), model_, other.weights, faults_).ok());
    EXPECT_EQ(load(open("out")), values_of(other.weights));
    EXPECT_THAT(file_names(dir_.path()), ElementsAre("out"));
}

// A rescue or the next attempt needs the space.
TEST_F(HfExportTest, AFullDiskKeepsNoHalfModel) {
    const auto written = [this](const char* points) {
        Faults faults(Faults::parse(points).value());
        return export_weights(options("out"), model_, sample_.weights, faults);
    };
    for (const char* point : {"checkpoint.full@1", "checkpoint.full@2"}) {
        const Status full = written(point);
        ASSERT_FALSE(full) << point;
        EXPECT_EQ(full.error().code, ErrorCode::unavailable);
        EXPECT_THAT(full.error().message, HasSubstr("No space left on device"));
        EXPECT_THAT(file_names(dir_.path()), ElementsAre()) << point;
    }
}

TEST_F(HfExportTest, MakesTheDirectoriesAboveIt) {
    ASSERT_TRUE(write(options("nested/deeper/out/")).ok());
    EXPECT_EQ(load(open("nested/deeper/out")), values_of(sample_.weights));
}

TEST_F(HfExportTest, MasterWeightsInF64AreWrittenAsF32) {
    const auto kernels = make_ref_kernels();
    WeightState weights(*kernels, model_);
    weights.initialize(1);  // rounded to f32, as every backend's
    ASSERT_TRUE(export_weights(options("out"), model_, weights, faults_).ok());
    EXPECT_EQ(load(open("out")), values_of(sample_.weights));
}

}  // namespace
}  // namespace rm
