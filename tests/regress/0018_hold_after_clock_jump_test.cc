#include "tests/controller/world.h"

// After a restore from a backup that knew no nodes, planning had no worker to wait for and was not
// held. Then the clock went back, so that workers that joined seemed not to have been heard since
// the restore: planning waited for them, and did not resume afterwards. Found by the simulation,
// scenario everything, seed 2434. Today such a hold begins only at a start, and a node that joined
// after the restore counts as heard whatever the clock says (0133).
namespace rm::test {
namespace {

TEST(Regress0018, AHoldThatBeginsWhenTheClockGoesBackEnds) {
    World world;
    world.hello("a", 1);
    world.session_down("a");
    world.wait(Seconds{1});
    world.apply(Restored{});
    world.now = world.now + Seconds{-30};
    // The backup knows a, which has said nothing since: planning waits for it.
    rebuild_indexes(world.state, world.now);
    const JobId job = world.submit(small_spec(ring(1)));
    world.wait(Seconds{1});
    EXPECT_FALSE(hold_reason(world.state, world.now).empty());
    const Outcome over = world.wait(kRestoreHold + Seconds{30});
    EXPECT_TRUE(hold_reason(world.state, world.now).empty());
    EXPECT_TRUE(asks_for_plan(over)) << "job " << job;
}

}  // namespace
}  // namespace rm::test
