#include "base/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Faults, FireAtTheirPassageOrAlways) {
    Faults faults(Faults::parse("checkpoint.rename@2,transport.send").value());
    EXPECT_FALSE(faults.fires("checkpoint.rename"));
    EXPECT_TRUE(faults.fires("checkpoint.rename"));
    EXPECT_FALSE(faults.fires("checkpoint.rename"));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(faults.fires("transport.send"));
    EXPECT_FALSE(faults.fires("never.planted"));
}

TEST(Faults, AreAbsentByDefault) {
    Faults faults;
    EXPECT_FALSE(faults.fires("anything"));
    EXPECT_NO_THROW(faults.pass("anything"));
    EXPECT_TRUE(Faults::parse("").value().empty());
}

TEST(Faults, PassThrowsNamingThePoint) {
    Faults faults({{"disk.write", 1}});
    try {
        faults.pass("disk.write");
        FAIL() << "no exception";
    } catch (const InjectedFault& fault) {
        EXPECT_THAT(fault.what(), HasSubstr("disk.write"));
    }
    EXPECT_NO_THROW(faults.pass("disk.write"));
}

TEST(Faults, RefuseTextTheyCannotRead) {
    for (const char* text : {"@2", "point@", "point@0", "point@-1", "point@two", "point@2x", "a,,b",
                             "point@1,point@3"}) {
        EXPECT_FALSE(Faults::parse(text)) << text;
    }
}

TEST(Faults, CountPassagesAcrossThreads) {
    Faults faults({{"point", 50}});
    std::atomic<int> fired = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 25; ++j)
                fired += faults.fires("point") ? 1 : 0;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace rm
