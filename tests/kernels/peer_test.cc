#include "bench/kernels/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm::bench {
namespace {

using ::testing::HasSubstr;

class Peer : public ::testing::Test {
protected:
    void SetUp() override {
        auto started = TorchPeer::start(1);
        if (!started) {
            EXPECT_THAT(started.error().message, HasSubstr("install python3"));
            GTEST_SKIP() << started.error().message;
        }
        peer_ = std::move(started.value());
    }
    std::unique_ptr<TorchPeer> peer_;
};

TEST_F(Peer, RunsEveryWorkItKnows) {
    for (const char* work : {
             R"("work": "linear_fwd", "T": 4, "N": 8, "K": 3)",
             R"("work": "linear_bwd_input", "T": 4, "N": 8, "K": 3)",
             R"("work": "linear_bwd_weight", "T": 4, "N": 8, "K": 3)",
             R"("work": "attention", "S": 5, "Hq": 4, "Hk": 2, "D": 8)",
             R"("work": "attention", "S": 5, "Hq": 4, "Hk": 2, "D": 8, "backward": true)",
             R"("work": "rmsnorm", "T": 4, "C": 8, "backward": true)",
             R"("work": "swiglu", "T": 4, "F": 8, "backward": true)",
             R"("work": "rope", "T": 4, "H": 2, "D": 8)",
             R"("work": "add", "size": 9)",
             R"("work": "adamw", "size": 9)",
             R"("work": "cross_entropy", "T": 4, "C": 8, "V": 11)",
         }) {
        for (const char* dtype : {"f32", "bf16"}) {
            const std::string json = format(R"({{{}, "dtype": "{}"}})", work, dtype);
            const Status ready = peer_->prepare(json);
            ASSERT_TRUE(ready.ok()) << json << ": " << ready.error().message;
            for (int turn = 0; turn < 2; ++turn) {
                const auto seconds = peer_->run();
                ASSERT_TRUE(seconds.ok()) << json << ": " << seconds.error().message;
                EXPECT_GT(*seconds, 0);
            }
        }
    }
}

TEST_F(Peer, SaysWhatItCannotDoAndGoesOn) {
    const Status unknown = peer_->prepare(R"({"work": "knitting"})");
    ASSERT_FALSE(unknown.ok());
    EXPECT_THAT(unknown.error().message, HasSubstr("knitting"));
    EXPECT_FALSE(peer_->run().ok()) << "nothing is prepared";
    EXPECT_TRUE(peer_->prepare(R"({"work": "add", "size": 9, "dtype": "f32"})").ok());
    EXPECT_TRUE(peer_->run().ok());
}

}  // namespace
}  // namespace rm::bench
