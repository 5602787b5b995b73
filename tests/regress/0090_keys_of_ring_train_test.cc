// ring-train named wrong values by keys that its configuration does not have: `warmup`, `mesh:
// inner ring`, `checkpoint.every`.
#include <gtest/gtest.h>

#include "base/format.h"
#include "engine/main/ring_train_config.h"

namespace rm {
namespace {

std::string error_of(const std::string& more, const std::string& stage = "") {
    const auto config = parse_ring_train_config(
        R"({"name": "x", "model": {"preset": "micro"}, "data": {"path": "text"}, "stages": [)"
        R"({"context": 1024, "batch": 1024, "tokens": 10240, "learning_rate": 1e-3)" +
        stage + "}]" + more + "}");
    return config ? "no error" : config.error().message;
}

TEST(Regress0090, ErrorsNameTheKeysOfTheConfiguration) {
    struct Case {
        std::string more;
        std::string words;
        std::string stage = {};
    };
    for (const auto& [more, words, stage] : std::vector<Case>{
             {"", "stages[0].warmup_steps: 11 steps; the stage has 10", R"(, "warmup_steps": 11)"},
             {R"(, "parallel": {"ring": 4, "inner_ring": 3})",
              "parallel.inner_ring: 3 does not divide the ring of 4; the nearest that does: 2 or "
              "4"},
             {R"(, "parallel": {"ring": 4, "inner_ring": -1})", "parallel.inner_ring: -1 must be"},
             {R"(, "parallel": {"ring": 0})", "parallel.ring: 0 must be 1 or more"},
             {R"(, "parallel": {"ulysses": 7})", "parallel: ulysses x tensor is 7"},
             {R"(, "checkpoint": {"every_steps": -1})", "checkpoint.every_steps: -1 steps"},
             {R"(, "checkpoint": {"every_seconds": -1})", "checkpoint.every_seconds: "},
             {R"(, "retry": {"lost_after_seconds": 0})", "retry.lost_after_seconds: "},
             {R"(, "evaluate": {"every_steps": -1})", "evaluate: every -1 steps"}}) {
        const std::string error = error_of(more, stage);
        EXPECT_EQ(error.substr(0, words.size()), words) << error;
    }
}

TEST(Regress0090, AModelOfItsOwnIsNamedAlike) {
    const std::string model = R"("model": {"vocabulary": 257, "hidden": 64, "num_layers": 1,
        "num_query_heads": 2, "num_kv_heads": 1, "head_dim": 32, "feed_forward": 128})";
    EXPECT_EQ(error_of(R"(, "parallel": {"ulysses": 4}, "engine": {)" + model + "}")
                  .find("parallel: ulysses x tensor is 4"),
              0u);
}

}  // namespace
}  // namespace rm
