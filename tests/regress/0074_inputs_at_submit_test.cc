// A job whose data, model or tokenizer was not there, or that named a model of the Hugging Face
// Hub, or one that no device can hold, was accepted with exit code 0 and failed when its turn came.
#include <gmock/gmock.h>

#include "cli/input/job_input.h"
#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Regress0074 : public E2eTest {
protected:
    void SetUp() override { up_ = up(path("state"), {"--workers", "1"}); }
    void TearDown() override {
        if (up_) stop(*up_);
    }
    // Returns the error of submit for a job that it must refuse; expects nothing in the queue.
    std::string refused(const JobText& job, int code = 2) {
        const Finished run = at(path("state"), {"submit", write_job(job)});
        EXPECT_EQ(run.code, code) << run.out << run.err;
        EXPECT_EQ(run.out, "");
        EXPECT_EQ(at(path("state"), {"ls", "-a", "-o", "name"}).out, "");
        return run.err;
    }

    std::unique_ptr<Process> up_;
};

constexpr const char* kAlone = "{data: 1}";

TEST_F(Regress0074, WhatIsNotThereIsNamedWithItsKey) {
    EXPECT_THAT(refused({.data = path("none"), .parallel = kAlone}),
                AllOf(HasSubstr("data.path: " + path("none")), HasSubstr("does not exist")));
    EXPECT_THAT(refused({.model = "{from: " + path("none") + "}", .parallel = kAlone}),
                HasSubstr("model.from: " + path("none") + " does not exist"));
    EXPECT_THAT(refused({.model = "{from: " + path("text") + "}", .parallel = kAlone}),
                HasSubstr("has no config.json"));
    EXPECT_THAT(refused({.parallel = kAlone,
                         .extra = "checkpoint: {dir: " + path("text/0.txt") + "/ckpt}\n"}),
                AllOf(HasSubstr("checkpoint.dir"), HasSubstr("0.txt is a file")));
}

TEST_F(Regress0074, NamesOfTheHubAreExplained) {
    EXPECT_THAT(refused({.model = "{from: meta-llama/Llama-3.1-8B}", .parallel = kAlone}),
                HasSubstr("huggingface-cli download meta-llama/Llama-3.1-8B --local-dir"));
    EXPECT_THAT(refused({.data = path("text") + ", tokenizer: gpt2", .parallel = kAlone}),
                HasSubstr("data.tokenizer: 'gpt2' is neither `bytes` nor a tokenizer.json"));
}

TEST_F(Regress0074, AModelThatNoDeviceCanHoldIsRefused) {
    EXPECT_THAT(refused({.model = "{preset: llama3-70b}", .parallel = kAlone}, 4),
                AllOf(HasSubstr("model llama3-70b: weights, gradients and moments"),
                      HasSubstr("no device of this cluster has more than")));
}

// The sizes of Llama 3 70B.
constexpr const char* kLargeConfig = R"({
  "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
  "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
  "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 8192,
  "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false,
  "hidden_act": "silu"
})";

TEST_F(Regress0074, ADirectoryWhoseModelNoDeviceCanHoldIsRefused) {
    std::filesystem::create_directories(path("large"));
    write_file(path("large/config.json"), kLargeConfig);
    EXPECT_THAT(refused({.model = "{from: " + path("large") + "}", .parallel = kAlone}),
                AllOf(HasSubstr("model " + path("large") + ": weights, gradients and moments"),
                      HasSubstr("no device of this cluster has more than")));
    write_file(path("large/config.json"), "{}");
    EXPECT_THAT(refused({.model = "{from: " + path("large") + "}", .parallel = kAlone}),
                HasSubstr("model.from: " + path("large") + "/config.json: "));
}

TEST(InputsElsewhere, AreLeftToTheWorkersButNamesOfTheHubAreNot) {
    JobSpec spec;
    spec.data.sources = {{"/mnt/shared/text"}};
    spec.model.from = "/mnt/shared/model";
    EXPECT_TRUE(check_inputs(spec, {WorkersAre::elsewhere}, "/home/ann").ok());
    spec.model.from = "/home/ann/org/model";
    EXPECT_FALSE(check_inputs(spec, {WorkersAre::elsewhere}, "/home/ann").ok());
    spec.model.from = "models:org/model";
    EXPECT_TRUE(
        check_inputs(spec, {WorkersAre::here}, "/home/ann").error().message.find("data.path") == 0u)
        << "a root's path is the workers' to look for";
}

}  // namespace
}  // namespace rm::e2e
