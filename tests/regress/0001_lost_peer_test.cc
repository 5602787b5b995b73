// 1. A rank whose peer died unwound while its streams still played queued work, and freed the
// buffers that work was using: most runs ended in a segmentation fault instead of "rank 1 is gone".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/comm/transport/transport.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

TEST(Regress0001, ALostPeerEndsTheOtherRankWithAnErrorAndNotACrash) {
    const TempDir dir;
    std::string text;
    Rng rng(1);
    for (int i = 0; i < 4000; ++i)
        text += static_cast<char>('a' + rng.below(26));
    dir.write("data/a.txt", text);
    RankConfig config;
    config.spec.name = "regress";
    config.spec.model.preset = "micro";
    config.spec.data = {{{dir.file("data")}}, "text", "bytes", 0};
    config.spec.stages = {{.context = 256, .batch = 512, .tokens = 20 * 512}};
    config.spec.memory.tile = 64;
    config.plan.memory = {64, 128};
    config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    for (int passage = 1; passage <= 8; ++passage) {
        Faults faults(Faults::parse(format("trainer.step@{}", passage)).value());
        EXPECT_THROW(test::run_training(config, test::cpu_backend(1), &faults), std::runtime_error);
    }
}

}  // namespace
}  // namespace rm
