#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "worker/probe/probe_server.h"

// A worker served a probe's control connection for as long as messages arrived, beyond the time
// that the controller had allowed.
namespace rm {
namespace {

TEST(Regress0014, AVisitEndsWithItsTime) {
    const auto server = ProbeServer::start({"127.0.0.1"}, {0, 0}).value();
    const std::string nonce = "0123456789abcdef";
    server->expect({.nonce = nonce, .valid = Seconds{0.5}});
    const UniqueFd control = dial("127.0.0.1", server->port(), Seconds{5}).value();
    ProbeGreeting greeting;
    std::copy(nonce.begin(), nonce.end(), greeting.nonce.begin());
    ASSERT_TRUE(send_plain(control, greeting));
    ProbeMessage message;
    int answered = 0;
    for (; answered < 200; ++answered) {
        if (!send_plain(control, message) || !receive_plain(control, message)) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GT(answered, 0);
    EXPECT_LT(answered, 200) << "four seconds";
}

}  // namespace
}  // namespace rm
