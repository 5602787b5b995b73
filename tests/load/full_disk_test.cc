#include <gtest/gtest.h>

#include <filesystem>

#include "controller/store/control_store.h"
#include "tests/load/controller_process.h"
#include "tests/load/sessions.h"
#include "tests/load/submits.h"
#include "tests/support/small_disk.h"

namespace rm::load {
namespace {

SubmitReport a_few(const ControllerProcess& controller) {
    return run_submits(controller.address(), {.clients = 2, .rate = 20, .duration = Seconds{0.5}});
}

TEST(FullDisk, RefusesSubmitsAndGoesOnWithControlWrites) {
    SmallDisk disk;
    if (!disk.why_not().empty()) GTEST_SKIP() << "no private mount here: " << disk.why_not();
    ControllerProcess controller({disk.file("state"), {}, {}});
    const SubmitReport before = a_few(controller);
    ASSERT_TRUE(before.errors.empty()) << before.errors.begin()->first;
    disk.fill();
    // The clients of every load use the same request ids: this load repeats those requests.
    const SubmitReport full = a_few(controller);
    EXPECT_TRUE(full.acked.empty());
    ASSERT_FALSE(full.errors.empty());
    const std::string why = full.errors.begin()->first;
    EXPECT_NE(why.find("takes no new jobs below"), std::string::npos) << why;
    EXPECT_NE(why.find(disk.file("state")), std::string::npos) << why;
    Sessions workers(controller.address(), 60, 1000);
    EXPECT_TRUE(workers.wait_until_open(Seconds{20})) << "a hello is a control write";
    EXPECT_FALSE(std::filesystem::exists(disk.file("state") + "/reserve")) << "it was needed";
    disk.empty();
    const SubmitReport after = a_few(controller);
    EXPECT_TRUE(after.errors.empty()) << after.errors.begin()->first;
    EXPECT_EQ(after.acked, before.acked);
    controller.stop(SIGKILL);
    const State kept =
        open_control_store(disk.file("state") + "/control.db").value()->load().value();
    EXPECT_EQ(kept.jobs.size(), before.acked.size());
    EXPECT_EQ(kept.nodes.size(), 60u);
}

}  // namespace
}  // namespace rm::load
