#include "engine/hf/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json llama() {
    return json::parse(R"({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-05, "max_position_embeddings": 131072, "rope_theta": 500000.0,
        "rope_scaling": null, "tie_word_embeddings": false, "attention_bias": false,
        "bos_token_id": 128000, "torch_dtype": "bfloat16", "transformers_version": "4.43.0"})");
}

ModelConfig model_of(const json& config) {
    const auto parsed = parse_hf_config(config.dump());
    EXPECT_TRUE(parsed.ok()) << (parsed ? "" : parsed.error().message);
    return parsed ? parsed->model : ModelConfig();
}

// Returns the error after `changes`; null removes a key.
std::string error_of(json changes) {
    json config = llama();
    config.merge_patch(changes);
    const auto parsed = parse_hf_config(config.dump());
    return parsed ? "parsed" : parsed.error().message;
}

TEST(HfConfig, ReadsLlama3) {
    const ModelConfig expected{.vocabulary = 128256,
                               .hidden = 4096,
                               .num_layers = 32,
                               .num_query_heads = 32,
                               .num_kv_heads = 8,
                               .head_dim = 128,
                               .feed_forward = 14336,
                               .norm_eps = 1e-5,
                               .rope = {.theta = 500000},
                               .max_positions = 131072};
    EXPECT_EQ(model_of(llama()), expected);
}

TEST(HfConfig, AbsentHeadSizesFollowFromTheOthers) {
    json config = llama();
    config.erase("num_key_value_heads");
    config["head_dim"] = nullptr;
    config.erase("tie_word_embeddings");
    EXPECT_EQ(model_of(config).num_kv_heads, 32);
    EXPECT_EQ(model_of(config).head_dim, 128);
    EXPECT_FALSE(model_of(config).tied_head);
    config["head_dim"] = 64;
    config["tie_word_embeddings"] = true;
    EXPECT_EQ(model_of(config).head_dim, 64);
    EXPECT_TRUE(model_of(config).tied_head);
}

TEST(HfConfig, NamesWhatIsMissing) {
    for (const char* key : {"model_type", "hidden_act", "vocab_size", "hidden_size",
                            "intermediate_size", "num_hidden_layers", "num_attention_heads",
                            "rms_norm_eps", "max_position_embeddings", "rope_theta"}) {
        EXPECT_THAT(error_of({{key, nullptr}}), HasSubstr(format("{}: is missing", key)));
    }
}

TEST(HfConfig, RefusesOtherArchitecturesByName) {
    EXPECT_THAT(error_of({{"model_type", "mistral"}}),
                HasSubstr("model_type: 'mistral' is not supported; llama"));
    EXPECT_THAT(error_of({{"architectures", {"LlamaForSequenceClassification"}}}),
                HasSubstr("architectures: [\"LlamaForSequenceClassification\"] is not"));
    EXPECT_THAT(error_of({{"hidden_act", "gelu"}}), HasSubstr("hidden_act: 'gelu'"));
    EXPECT_THAT(error_of({{"attention_bias", true}}), HasSubstr("attention_bias: true"));
    EXPECT_THAT(error_of({{"mlp_bias", true}}), HasSubstr("mlp_bias: true"));
    EXPECT_THAT(error_of({{"attention_dropout", 0.1}}), HasSubstr("attention_dropout: 0.1"));
    EXPECT_THAT(error_of({{"partial_rotary_factor", 0.5}}), HasSubstr("partial_rotary_factor"));
    EXPECT_THAT(error_of({{"quantization_config", {{"bits", 4}}}}),
                HasSubstr("quantization_config"));
}

TEST(HfConfig, RefusesSizesNoModelHas) {
    EXPECT_THAT(error_of({{"hidden_size", 0}}), HasSubstr("hidden_size: 0 must be from 1 to"));
    EXPECT_THAT(error_of({{"vocab_size", -1}}), HasSubstr("vocab_size: -1"));
    EXPECT_THAT(error_of({{"num_hidden_layers", 1 << 20}}), HasSubstr("from 1 to 4096"));
    EXPECT_THAT(error_of({{"hidden_size", 1.5}}), HasSubstr("hidden_size: 1.5 where a whole"));
    EXPECT_THAT(error_of({{"hidden_size", "4096"}}), HasSubstr("hidden_size: \"4096\" where"));
    EXPECT_THAT(error_of({{"hidden_size", 4095}}), HasSubstr("head_dim: is missing"));
    EXPECT_THAT(error_of({{"head_dim", 127}}), HasSubstr("head_dim: 127 is odd"));
    EXPECT_THAT(error_of({{"num_key_value_heads", 7}}),
                HasSubstr("num_key_value_heads: 7 does not divide num_attention_heads 32"));
    EXPECT_THAT(error_of({{"rms_norm_eps", -1e-5}}), HasSubstr("rms_norm_eps: -1e-05"));
}

TEST(HfConfig, RefusesTextThatIsNotOnePlainObject) {
    const auto error = [](const std::string& text) {
        const auto parsed = parse_hf_config(text);
        return parsed ? "parsed" : parsed.error().message;
    };
    EXPECT_THAT(error("{\n\"a\": 1,\n}"), HasSubstr("is not JSON: wrong at line 3"));
    EXPECT_THAT(error("[]"), HasSubstr("array where an object is expected"));
    EXPECT_THAT(error(R"({"a": 1, "b": {"c": 1, "c": 2}})"), HasSubstr("the key 'c' twice"));
    EXPECT_THAT(error(R"({"a": 1e999})"), HasSubstr("is not JSON"));
    EXPECT_THAT(error(R"({"a": )" + std::string(100'000, '[')), HasSubstr("deeper than 64"));
    EXPECT_THAT(error(std::string("{}\0", 3)), HasSubstr("zero byte"));
    EXPECT_THAT(error(std::string((4 << 20) + 1, ' ')), HasSubstr("at most"));
}

// ---- rotary embedding

json yarn() {
    return {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
}

json longrope() {
    const std::vector<double> factors(64, 1.5);
    return {{"rope_type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}};
}

TEST(HfRope, BothSpellingsSayTheSame) {
    json old_spelling = llama();
    old_spelling["rope_scaling"] = yarn();
    json new_spelling = llama();
    new_spelling.erase("rope_theta");
    new_spelling.erase("rope_scaling");
    new_spelling["rope_parameters"] = yarn();
    new_spelling["rope_parameters"]["rope_theta"] = 500000;
    const RopeConfig expected{
        .type = RopeType::yarn, .theta = 500000, .factor = 4, .original_context = 32768};
    EXPECT_EQ(model_of(old_spelling).rope, expected);
    EXPECT_EQ(model_of(new_spelling).rope, expected);
    json both = old_spelling;
    both["rope_parameters"] = new_spelling["rope_parameters"];
    EXPECT_EQ(model_of(both).rope, expected);
    both["rope_parameters"]["factor"] = 2;
    EXPECT_THAT(error_of(both), HasSubstr("rope_parameters: disagrees with rope_scaling"));
}

TEST(HfRope, PlainParametersInTheNewSpelling) {
    json config = llama();
    config.erase("rope_theta");
    config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e6}};
    EXPECT_EQ(model_of(config).rope, RopeConfig{.theta = 1e6});
}

TEST(HfRope, YarnWithoutAFactorTakesTheRatioOfTheLengths) {
    json config = llama();
    config["rope_scaling"] = yarn();
    config["rope_scaling"].erase("factor");
    EXPECT_EQ(model_of(config).rope.factor, 4);
    config["rope_scaling"] = {{"type", "yarn"}, {"factor", 8.0}, {"finetuned", true}};
    EXPECT_EQ(model_of(config).rope.original_context, 131072);
}

TEST(HfRope, LongropeFindsItsLengthBesideOrInside) {
    json beside = llama();
    beside["original_max_position_embeddings"] = 4096;
    beside["rope_scaling"] = longrope();
    EXPECT_EQ(model_of(beside).rope.original_context, 4096);
    EXPECT_EQ(model_of(beside).rope.factor, 32);
    json inside = llama();
    inside["rope_scaling"] = longrope();
    inside["rope_scaling"]["original_max_position_embeddings"] = 4096;
    EXPECT_EQ(model_of(inside).rope, model_of(beside).rope);
    beside["rope_scaling"]["original_max_position_embeddings"] = 8192;
    EXPECT_THAT(error_of(beside), HasSubstr("8192 and the 4096 beside rope_scaling disagree"));
    beside["rope_scaling"]["original_max_position_embeddings"] = 4096;
    beside["rope_scaling"]["factor"] = 8;
    EXPECT_THAT(error_of(beside), HasSubstr("rope_scaling.factor: 8 and"));
    beside["rope_scaling"]["attention_factor"] = 1.2;  // then the factor means nothing
    EXPECT_EQ(model_of(beside).rope.attention_factor, 1.2);
}

TEST(HfRope, DynamicScalesFromMaxPositionEmbeddings) {
    json config = llama();
    config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
    EXPECT_EQ(model_of(config).rope.original_context, 131072);
    config["rope_scaling"]["original_max_position_embeddings"] = 4096;
    EXPECT_THAT(error_of(config), HasSubstr("dynamic scaling takes one"));
}

TEST(HfRope, ErrorsNameTheKey) {
    const auto error = [](const json& scaling) { return error_of({{"rope_scaling", scaling}}); };
    EXPECT_THAT(error({{"factor", 2.0}}), HasSubstr("rope_scaling.rope_type: is missing"));
    EXPECT_THAT(error({{"type", "ntk"}}), HasSubstr("rope_scaling.rope_type: 'ntk' is not known"));
    EXPECT_THAT(error({{"type", "linear"}}), HasSubstr("rope_scaling.factor: is missing"));
    EXPECT_THAT(error({{"type", "linear"}, {"factor", 0.5}}),
                HasSubstr("rope_scaling.factor: 0.5 must be"));
    EXPECT_THAT(error({{"type", "linear"}, {"factor", "2"}}), HasSubstr("rope_scaling.factor"));
    EXPECT_THAT(error({{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2.0}}),
                HasSubstr("'yarn' and type 'linear' disagree"));
    EXPECT_THAT(error({{"type", "linear"}, {"factor", 2.0}, {"beta_fast", 1}}),
                HasSubstr("rope_scaling.beta_fast: unknown key"));
    EXPECT_THAT(error({{"type", "linear"}, {"factor", 2.0}, {"rope_theta", 10000}}),
                HasSubstr("rope_theta 500000 beside it disagree"));
    EXPECT_THAT(error({{"type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}}),
                HasSubstr("rope_scaling.high_freq_factor: is missing"));
    EXPECT_THAT(error({{"type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0}}),
                HasSubstr("original_max_position_embeddings: is missing"));
    EXPECT_THAT(error({{"type", "longrope"}, {"short_factor", {1.0}}}),
                HasSubstr("rope_scaling.long_factor: is missing"));
    EXPECT_THAT(error({{"type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0}}}),
                HasSubstr("short_factor: 1 numbers; head_dim 128 takes 64"));
    EXPECT_THAT(error({{"type", "longrope"}, {"short_factor", "x"}, {"long_factor", {1.0}}}),
                HasSubstr("a list of numbers"));
    EXPECT_THAT(error("yarn"), HasSubstr("rope_scaling: string where an object"));
}

TEST(HfRope, EveryTypeSurvivesWriting) {
    json llama3 = {{"rope_type", "llama3"},
                   {"factor", 8.0},
                   {"low_freq_factor", 1.0},
                   {"high_freq_factor", 4.0},
                   {"original_max_position_embeddings", 8192}};
    json long_scaling = longrope();
    long_scaling["original_max_position_embeddings"] = 4096;
    json full_yarn = yarn();
    full_yarn.merge_patch({{"mscale", 0.7},
                           {"mscale_all_dim", 1.0},
                           {"truncate", false},
                           {"beta_fast", 16},
                           {"beta_slow", 2}});
    for (const json& scaling :
         {json(), json({{"type", "linear"}, {"factor", 2.0}}),
          json({{"type", "dynamic"}, {"factor", 2.0}}), full_yarn, long_scaling, llama3}) {
        json config = llama();
        config["rope_scaling"] = scaling;
        const ModelConfig model = model_of(config);
        const json written = make_hf_config(model, json(), "float32");
        EXPECT_EQ(model_of(written), model) << scaling;
        config.erase("rope_scaling");
        config.erase("rope_theta");
        config["rope_parameters"] = scaling.is_null() ? json({{"type", "default"}}) : scaling;
        config["rope_parameters"]["rope_theta"] = 500000.0;
        const json over = make_hf_config(model, config, "float32");
        EXPECT_FALSE(over.contains("rope_parameters"));
        EXPECT_EQ(model_of(over), model) << scaling;
    }
}

TEST(HfConfig, AnExportKeepsWhatItDoesNotKnowAndReplacesWhatItDoes) {
    ModelConfig model = model_of(llama());
    model.rope.theta = 8e6;
    model.max_positions = 262144;
    const json written = make_hf_config(model, llama(), "float32");
    EXPECT_EQ(written["bos_token_id"], 128000);
    EXPECT_EQ(written["rope_theta"], 8e6);
    EXPECT_EQ(written["max_position_embeddings"], 262144);
    EXPECT_EQ(written["torch_dtype"], "float32");
    json newer = llama();
    newer["dtype"] = "bfloat16";
    newer.erase("torch_dtype");
    EXPECT_EQ(make_hf_config(model, newer, "float32")["dtype"], "float32");
    EXPECT_FALSE(make_hf_config(model, newer, "float32").contains("torch_dtype"));
}

// ---- the index

TEST(HfIndex, SurvivesWriting) {
    const HfWeightMap map = {{"a", "model-00001-of-00002.safetensors"},
                             {"b", "model-00002-of-00002.safetensors"}};
    EXPECT_EQ(parse_hf_index(encode_hf_index(map, 10)).value(), map);
}

TEST(HfIndex, RefusesFilesElsewhereAndWhatIsNoMap) {
    const auto error = [](const std::string& map) {
        const auto parsed = parse_hf_index(R"({"metadata": {}, "weight_map": )" + map + "}");
        return parsed ? "parsed" : parsed.error().message;
    };
    for (const char* file : {"../x.safetensors", "/x.safetensors", "a/b.safetensors", "x.bin",
                             ".safetensors", "a\\\\b.safetensors", ""}) {
        EXPECT_THAT(error(R"({"a": ")" + std::string(file) + "\"}"),
                    HasSubstr("is not the name of a .safetensors file here"));
    }
    EXPECT_THAT(error(R"({"a": 1})"), HasSubstr("weight_map.a: 1 where a string"));
    EXPECT_THAT(error("{}"), HasSubstr("must be an object of tensor names"));
    EXPECT_THAT(error("[]"), HasSubstr("must be an object of tensor names"));
    EXPECT_THAT(error(R"({"a": "x.safetensors", "a": "y.safetensors"})"), HasSubstr("'a' twice"));
    EXPECT_THAT(parse_hf_index("{}").error().message, HasSubstr("weight_map: is missing"));
}

}  // namespace
}  // namespace rm
