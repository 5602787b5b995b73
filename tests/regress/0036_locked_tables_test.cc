// While another program held control.db the controller answered nothing, not even reads, and ended
// itself after ten seconds. It did not notice when control.db was deleted, and kept committing to
// the unlinked file.
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "controller/store/sqlite.h"
#include "tests/controller/running.h"

namespace rm::test {
namespace {

TEST(Regress0036, ReadsGoOnWhileAnotherProgramHoldsTheTables) {
    Running running;
    const std::string id = running.submit(small_spec());
    Database other =
        Database::open(running.directory.file("state/control.db"), Access::write).value();
    ASSERT_TRUE(other.execute("BEGIN IMMEDIATE"));
    auto submitted = std::async(std::launch::async,
                                [&] { return running.submit(small_spec(), "while it is locked"); });
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < std::chrono::seconds(12)) {
        const auto asked = std::chrono::steady_clock::now();
        EXPECT_EQ(running.job(id).id(), id);
        EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(2));
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    EXPECT_EQ(submitted.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    ASSERT_TRUE(other.execute("ROLLBACK"));
    EXPECT_EQ(running.job(submitted.get()).state(), pb::JOB_STATE_PENDING);
}

TEST(Regress0036, TablesThatAreRemovedAreNoticed) {
    std::promise<std::string> said;
    std::atomic<bool> once = false;
    Running running;
    running.daemon.reset();
    DaemonOptions options = running.options();
    options.on_fatal = [&](const std::string& message) {
        if (!once.exchange(true)) said.set_value(message);
    };
    running.start(std::move(options));
    std::filesystem::remove(running.directory.file("state/control.db"));
    auto message = said.get_future();
    ASSERT_EQ(message.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    const std::string text = message.get();
    EXPECT_NE(text.find("was removed or replaced"), std::string::npos) << text;
    EXPECT_NE(text.find("ringmaster restore"), std::string::npos) << text;
}

}  // namespace
}  // namespace rm::test
