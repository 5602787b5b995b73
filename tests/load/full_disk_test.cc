#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "controller/store/control_store.h"
#include "tests/load/controller_process.h"
#include "tests/load/sessions.h"
#include "tests/load/submits.h"
#include "tests/support/temp_dir.h"

namespace rm::load {
namespace {

// A file system of 64 MiB that only this thread and its children see.
class SmallDisk {
public:
    SmallDisk() {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=64m") != 0) {
            why_not_ = std::strerror(errno);
        }
    }
    ~SmallDisk() {
        if (why_not_.empty()) ::umount(directory_.path().c_str());
    }
    const std::string& why_not() const { return why_not_; }  // empty: it is there
    std::string state() const { return directory_.file("state"); }
    void fill() {
        std::ofstream file(directory_.file("filler"), std::ios::binary);
        const std::string block(4096, 'x');
        while (file.write(block.data(), 4096).flush()) {
        }
    }
    void empty() { std::filesystem::remove(directory_.file("filler")); }

private:
    TempDir directory_;
    std::string why_not_;
};

SubmitReport a_few(const ControllerProcess& controller) {
    return run_submits(controller.address(), {.clients = 2, .rate = 20, .duration = Seconds{0.5}});
}

TEST(FullDisk, RefusesSubmitsAndGoesOnWithControlWrites) {
    SmallDisk disk;
    if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
    ControllerProcess controller({disk.state(), {}, {}});
    const SubmitReport before = a_few(controller);
    ASSERT_TRUE(before.errors.empty()) << before.errors.begin()->first;
    disk.fill();
    // The clients of one load give the same request ids: these are asked again.
    const SubmitReport full = a_few(controller);
    EXPECT_TRUE(full.acked.empty());
    ASSERT_FALSE(full.errors.empty());
    const std::string why = full.errors.begin()->first;
    EXPECT_NE(why.find("takes no new jobs below"), std::string::npos) << why;
    EXPECT_NE(why.find(disk.state()), std::string::npos) << why;
    Sessions workers(controller.address(), 60, 1000);
    EXPECT_TRUE(workers.wait_until_open(Seconds{20})) << "a hello is a control write";
    EXPECT_FALSE(std::filesystem::exists(disk.state() + "/reserve")) << "it was needed";
    disk.empty();
    const SubmitReport after = a_few(controller);
    EXPECT_TRUE(after.errors.empty()) << after.errors.begin()->first;
    EXPECT_EQ(after.acked, before.acked);
    controller.stop(SIGKILL);
    const State kept = open_control_store(disk.state() + "/control.db").value()->load().value();
    EXPECT_EQ(kept.jobs.size(), before.acked.size());
    EXPECT_EQ(kept.nodes.size(), 60u);
}

}  // namespace
}  // namespace rm::load
