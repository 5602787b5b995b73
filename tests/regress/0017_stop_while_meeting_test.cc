// 17. A rank that was asked to stop while it waited for the connection of a peer that had left
// after exchanging addresses waited for the whole timeout of a collective: Ctrl-C on a cluster
// whose job had just begun sometimes took a minute. Which of two ranks waits for the other's
// connection is chance, by their ports.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/comm/transport/transport.h"

namespace rm {
namespace {

// Publishes where it is, learns where the others are, and goes.
class Leaver : public Exchange {
public:
    Leaver(Exchange& exchange, std::string_view last) : exchange_(exchange), last_(last) {}
    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override {
        auto table = exchange_.exchange(group, std::move(blob), timeout);
        if (group != last_) return table;
        return make_error(ErrorCode::cancelled, "leaves");
    }

private:
    Exchange& exchange_;
    const std::string_view last_;  // group
};

// Each turn a rank waits for a peer on another node, or on its own.
TEST(Regress0017, ARankThatIsAskedToStopDoesNotWaitForPeersToConnect) {
    for (int turn = 0; turn < 8; ++turn) {
        const bool near = turn % 4 == 3;
        auto exchanges = make_local_exchanges(2);
        std::atomic<bool> stop = false;
        const auto start = std::chrono::steady_clock::now();
        std::jthread leaver([&] {
            Leaver leaves(*exchanges[1], near ? "address" : "gloo");
            EXPECT_THROW(
                make_gloo_transport(near ? "127.0.0.1" : "127.0.0.2", leaves,
                                    {.rank = 1, .num_ranks = 2, .peers = {0}, .timeout = {60}}),
                TransportError);
            stop = true;
        });
        EXPECT_THROW(make_gloo_transport(
                         "127.0.0.1", *exchanges[0],
                         {.rank = 0, .num_ranks = 2, .peers = {1}, .timeout = {60}, .stop = &stop}),
                     TransportError);
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    }
}

}  // namespace
}  // namespace rm
