// 134. Each stage in windows on a ring made two streams, and the order of a rank's streams forgot
// none: it ended at the third stage with "a rank has more than 8 streams". Before that it could
// take a new stream for one that was gone, whose address it had.
#include "tests/regress/staged_run.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

TEST(Regress0134, ManyStagesInWindowsOnARingTrainToTheBitsOfWholeLayers) {
    const TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 4000));
    RankConfig config = test::staged_run(dir.file("data"), {256, 512, 768, 512, 256, 768});
    config.plan.memory = {64, 64};
    config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    const std::vector<double> whole = test::losses_of(config);
    config.plan.memory.kept = KeptPlace::host;
    config.plan.memory.working = WorkingSet::windows;
    EXPECT_EQ(test::losses_of(config), whole);
}

}  // namespace
}  // namespace rm
