#include "engine/hf/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hf/config.h"
#include "tests/engine/hf/sample_directory.h"

namespace rm {
namespace {

using testing::HasSubstr;

class HfDirectoryTest : public testing::Test {
protected:
    HfDirectoryTest() { write_config(path_, model_); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string error() const {
        const auto directory = HfDirectory::open(path_);
        return directory ? "opened" : directory.error().message;
    }
    void write_index(const HfWeightMap& map) const {
        dir_.write("model/" + std::string(kHfIndexFile), encode_hf_index(map, 0));
    }
    // Writes two shards and their index.
    HfWeightMap write_two_shards() const {
        std::vector<SafetensorsEntry> parts[2];
        HfWeightMap map;
        for (const SafetensorsEntry& entry : entries_of(model_)) {
            const bool second = entry.name.find("mlp") != std::string::npos;
            parts[second ? 1 : 0].push_back(entry);
            map[entry.name] = second ? "b.safetensors" : "a.safetensors";
        }
        write_tensors(file("a.safetensors"), parts[0]);
        write_tensors(file("b.safetensors"), parts[1]);
        write_index(map);
        return map;
    }

    const ModelConfig model_ = tiny_llama();
    TempDir dir_;
    const std::string path_ = dir_ / "model";
};

TEST_F(HfDirectoryTest, OpensOneFileOrShards) {
    write_tensors(file("model.safetensors"), entries_of(model_));
    EXPECT_EQ(error(), "opened");
    EXPECT_EQ(HfDirectory::open(path_)->model(), model_);
    std::filesystem::remove(file("model.safetensors"));
    write_two_shards();
    EXPECT_EQ(error(), "opened");
}

TEST_F(HfDirectoryTest, ReadsAnyRangeOfElements) {
    const SampleWeights sample(model_);
    Faults faults;
    ASSERT_TRUE(export_weights({.path = dir_ / "out", .dtype = StorageType::f32}, model_,
                               sample.weights, faults)
                    .ok());
    const auto directory = HfDirectory::open(dir_ / "out");
    ASSERT_TRUE(directory) << directory.error().message;
    const float* head = sample.weights.weight(sample.weights.table().head).as<float>();
    std::vector<float> values(5);
    const TensorView out(values.data(), DType::f32, {5});
    ASSERT_TRUE(directory->read("lm_head.weight", 7, out).ok());
    EXPECT_EQ(values, std::vector<float>(head + 7, head + 12));
    std::vector<double> wide(3);
    ASSERT_TRUE(directory->read("lm_head.weight", 1, {wide.data(), DType::f64, {3}}).ok());
    EXPECT_EQ(wide, std::vector<double>(head + 1, head + 4));
}

TEST_F(HfDirectoryTest, SaysWhichFileIsMissing) {
    EXPECT_THAT(error(), HasSubstr("neither model.safetensors nor model.safetensors.index.json"));
    std::filesystem::remove(file("config.json"));
    EXPECT_THAT(error(), HasSubstr("config.json: No such file"));
    write_config(path_, model_);
    write_two_shards();
    std::filesystem::remove(file("b.safetensors"));
    EXPECT_THAT(error(), HasSubstr("b.safetensors: No such file"));
}

TEST_F(HfDirectoryTest, RefusesOneFileBesideAnIndex) {
    write_two_shards();
    write_tensors(file("model.safetensors"), entries_of(model_));
    EXPECT_THAT(error(), HasSubstr("are both there; keep one"));
}

TEST_F(HfDirectoryTest, NamesMissingAndForeignTensors) {
    std::vector<SafetensorsEntry> entries = entries_of(model_);
    const SafetensorsEntry last = entries.back();
    entries.pop_back();
    write_tensors(file("model.safetensors"), entries);
    EXPECT_THAT(error(), HasSubstr("1 tensor is missing: 'lm_head.weight'"));
    entries.push_back(last);
    entries.push_back({"model.layers.0.self_attn.q_proj.bias", StorageType::f32, {32}});
    write_tensors(file("model.safetensors"), entries);
    EXPECT_THAT(error(), HasSubstr("1 tensor is no part of a Llama: "
                                   "'model.layers.0.self_attn.q_proj.bias'"));
    write_tensors(file("model.safetensors"), {});
    EXPECT_THAT(error(), HasSubstr("21 tensors are missing: 'model.embed_tokens.weight', "));
}

TEST_F(HfDirectoryTest, PassesOverTheBuffersOfOldCheckpoints) {
    std::vector<SafetensorsEntry> entries = entries_of(model_);
    entries.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", StorageType::f32, {4}});
    write_tensors(file("model.safetensors"), entries);
    EXPECT_EQ(error(), "opened");
}

TEST_F(HfDirectoryTest, NamesShapesAndTypesThatDoNotFit) {
    std::vector<SafetensorsEntry> entries = entries_of(model_);
    entries[2].shape = {16, 32};
    write_tensors(file("model.safetensors"), entries);
    EXPECT_THAT(error(), HasSubstr("tensor 'model.layers.0.self_attn.q_proj.weight' is [16, 32], "
                                   "the configuration makes it [32, 16]"));
    for (const StorageType type : {StorageType::f64, StorageType::i32}) {
        write_tensors(file("model.safetensors"), entries_of(model_, type));
        EXPECT_THAT(error(), HasSubstr(format("'model.embed_tokens.weight' is {}; F32, F16 or BF16",
                                              to_string(type))));
    }
}

TEST_F(HfDirectoryTest, TheIndexAndTheShardsMustAgree) {
    const HfWeightMap map = write_two_shards();
    HfWeightMap moved = map;
    moved["lm_head.weight"] = "b.safetensors";
    write_index(moved);
    EXPECT_THAT(error(), HasSubstr("tensor 'lm_head.weight' is not in b.safetensors"));
    HfWeightMap shorter = map;
    shorter.erase("lm_head.weight");
    write_index(shorter);
    EXPECT_THAT(error(), HasSubstr("a.safetensors: tensor 'lm_head.weight' is not in "
                                   "model.safetensors.index.json"));
    HfWeightMap longer = map;
    longer["x"] = "a.safetensors";
    write_index(longer);
    EXPECT_THAT(error(), HasSubstr("tensor 'x' is not in a.safetensors"));
    write_index(map);
    std::vector<SafetensorsEntry> twice = entries_of(model_);
    write_tensors(file("b.safetensors"), twice);
    EXPECT_THAT(error(), HasSubstr("is in " + file("a.safetensors") + " as well"));
}

TEST_F(HfDirectoryTest, ErrorsNameTheFile) {
    dir_.write("model/config.json", "{}");
    EXPECT_THAT(error(), HasSubstr("model/config.json: model_type: is missing"));
    write_config(path_, model_);
    dir_.write("model/model.safetensors", "short");
    EXPECT_THAT(error(), HasSubstr("model/model.safetensors: is 5 bytes, too short"));
    std::filesystem::remove(file("model.safetensors"));
    dir_.write("model/" + std::string(kHfIndexFile), "{");
    EXPECT_THAT(error(), HasSubstr("model.safetensors.index.json: is not JSON"));
}

TEST_F(HfDirectoryTest, ATiedHeadThatIsStoredMustEqualTheEmbedding) {
    ModelConfig tied = model_;
    tied.tied_head = true;
    write_config(path_, tied);
    std::vector<SafetensorsEntry> entries = entries_of(tied);
    write_tensors(file("model.safetensors"), entries);
    EXPECT_EQ(error(), "opened");  // absent
    entries.push_back({"lm_head.weight", StorageType::f32, {24, 16}});
    write_tensors(file("model.safetensors"), entries);
    SampleWeights sample(tied);
    ASSERT_TRUE(load_hf_weights(HfDirectory::open(path_).value(), sample.weights).ok());
    // The last tensor's last element: row 23.
    std::fstream file(path_ + "/model.safetensors",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end).put(2);
    file.close();
    const Status different = load_hf_weights(HfDirectory::open(path_).value(), sample.weights);
    ASSERT_FALSE(different);
    EXPECT_THAT(different.error().message, HasSubstr("lm_head.weight differs from "
                                                     "model.embed_tokens.weight in row 23"));
    entries.back().shape = {16, 24};
    write_tensors(path_ + "/model.safetensors", entries);
    EXPECT_THAT(error(), HasSubstr("'lm_head.weight' is [16, 24], the configuration makes it"));
}

}  // namespace
}  // namespace rm
