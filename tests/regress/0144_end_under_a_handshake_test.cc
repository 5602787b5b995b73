// One in 1,500 calls of `ringmaster` to a controller with a foreign certificate crashed after its
// message: exit() cleaned OpenSSL up while a thread of gRPC's tried the handshake again.
#include <gtest/gtest.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/os/end_process.h"

namespace rm {
namespace {

// Handlers of exit run in the reverse order: this one keeps the process for a while after OpenSSL's
// own, which OpenSSL registers when it starts.
void linger() {
    ::usleep(500'000);
}

[[noreturn]] void end_while_a_thread_uses_openssl() {
    std::atexit(linger);
    std::thread([] {
        std::array<unsigned char, 32> key{};
        while (true)
            RAND_priv_bytes(key.data(), static_cast<int>(key.size()));
    }).detach();
    ::usleep(50'000);
    std::cout << "to stdout";  // neither flushed nor a whole line
    std::cerr << "to stderr";
    end_process(4);
}

TEST(Regress0144, EndsWhileAThreadUsesOpenSsl) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(end_while_a_thread_uses_openssl(), testing::ExitedWithCode(4), "to stderr");
}

TEST(Regress0144, LosesNoOutput) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    EXPECT_EXIT(
        {
            ::dup2(ends[1], STDOUT_FILENO);
            std::cout << "by stream, ";
            std::printf("by printf");
            end_process(0);
        },
        testing::ExitedWithCode(0), "");
    ::close(ends[1]);
    std::array<char, 64> read{};
    const auto count = ::read(ends[0], read.data(), read.size());
    ::close(ends[0]);
    ASSERT_GT(count, 0);
    EXPECT_EQ(std::string(read.data(), static_cast<std::size_t>(count)), "by stream, by printf");
}

}  // namespace
}  // namespace rm
