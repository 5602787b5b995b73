// ring-train accepted invalid input, and reported one error once too often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::HasSubstr;

class Regress0059 : public testing::Test {
protected:
    test::Finished ring_train(const std::string& engine, const std::string& more = "",
                              const std::string& stage = R"("context": 128, "tokens": 128)") {
        dir_.write("config.json", R"({"name": "x", "model": {"preset": "micro"}, "engine": {)" +
                                      engine + "}" + more + R"(, "data": {"path": ")" +
                                      dir_.file("data") + R"("}, "stages": [{"batch": 128, )" +
                                      stage + "}]}");
        return test::run_program(RM_RING_TRAIN, dir_.file("config.json"));
    }
    TempDir dir_;
};

TEST_F(Regress0059, ValuesThatCannotBeAreRefusedWithTheirKey) {
    const std::string sizes = R"("vocabulary": 257, "hidden": 64, "num_query_heads": 2,
        "num_kv_heads": 1, "head_dim": 32, "feed_forward": 128)";
    struct Case {
        std::string engine;
        std::string words;
    };
    for (const auto& [engine, words] :
         {Case{R"("threads_per_rank": -1)", "engine.threads_per_rank: -1 must be"},
          {R"("threads_per_rank": 1000000000)", "engine.threads_per_rank: 1000000000 must be"},
          {R"("timeout_seconds": 0)", "engine.timeout_seconds: 0 must be"},
          {R"("timeout_seconds": -3)", "engine.timeout_seconds: -3 must be"},
          {R"("stop_after_steps": -1)", "engine.stop_after_steps: -1 must not be negative"},
          {R"("model": {"num_layers": 1000000000, )" + sizes + "}",
           "engine.model.num_layers: 1000000000 must be 1 to 10000"},
          {R"("model": {"num_layers": 0, )" + sizes + "}", "engine.model.num_layers: 0 must be"},
          {R"("model": {"num_layers": 1, "norm_eps": -1, )" + sizes + "}",
           "engine.model.norm_eps: -1 must be"},
          {R"("address": "127.0.0.1", "address": "127.0.0.1")", "holds the key 'address' twice"}}) {
        const test::Finished run = ring_train(engine);
        EXPECT_EQ(run.code, 2) << run.output;
        EXPECT_THAT(run.output, HasSubstr(words));
    }
    const test::Finished run =
        ring_train("", "", R"("context": 128, "tokens": 9223372036854775807)");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("stages[0].tokens: 9223372036854775807 tokens; at most"));
}

TEST_F(Regress0059, WhatDoesNotFitTheMeshIsAWrongConfigurationOnOneRankToo) {
    const test::Finished run = ring_train("", "", R"("context": 1, "tokens": 128)");
    EXPECT_EQ(run.code, 2) << run.output;
    EXPECT_THAT(run.output, HasSubstr("stages[0].context 1 is too short"));
    const test::Finished tensor =
        ring_train("", R"(, "parallel": {"tensor": 3}, "memory": {"tile": 96})");
    EXPECT_EQ(tensor.code, 2) << tensor.output;
}

// All ranks find alike that the data are missing.
TEST_F(Regress0059, OneErrorOfAllRanksIsToldOnce) {
    for (const std::string ranks : {"threads", "processes"}) {
        const test::Finished run =
            ring_train(R"("ranks": ")" + ranks + "\"", R"(, "parallel": {"ring": 2})");
        EXPECT_EQ(run.code, 1) << run.output;
        EXPECT_THAT(run.output, HasSubstr(dir_.file("data")));
        EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    }
}

}  // namespace
}  // namespace rm
