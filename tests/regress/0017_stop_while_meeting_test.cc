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

// Publishes its address, learns the others', and goes.
class Leaver : public Exchange {
public:
    explicit Leaver(Exchange& exchange) : exchange_(exchange) {}
    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override {
        const auto table = exchange_.exchange(group, std::move(blob), timeout);
        return make_error(ErrorCode::cancelled, "leaves");
    }

private:
    Exchange& exchange_;
};

TEST(Regress0017, ARankThatIsAskedToStopDoesNotWaitForPeersToConnect) {
    for (int turn = 0; turn < 8; ++turn) {
        auto exchanges = make_local_exchanges(2);
        std::atomic<bool> stop = false;
        const auto start = std::chrono::steady_clock::now();
        std::jthread leaver([&] {
            Leaver leaves(*exchanges[1]);
            EXPECT_THROW(
                make_gloo_transport("127.0.0.1", leaves,
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
