#include "controller/core/restore.h"
#include "tests/controller/world.h"

// After a restore from a backup that knew no nodes nobody was waited for, and planning was not
// held. Then the clock went back, so that workers that joined seemed not to have been heard since
// the restore: planning waited for them, and when that was over nobody planned. Found by the
// simulation, scenario everything, seed 2434. (By now such a hold begins at a start only.)
namespace rm::test {
namespace {

TEST(Regress0018, AHoldThatBeginsWhenTheClockGoesBackEnds) {
    World world;
    world.apply(Restored{});
    world.wait(Seconds{1});
    world.now = world.now + Seconds{-30};
    world.hello("a", 1);
    world.session_down("a");
    // The clock lies behind the restore, and so does the last word of a: it is waited for again.
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
