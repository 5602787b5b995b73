// 135. A stage ended while the last update on the host had yet to read its clip factor: the next
// stage's buffers took its memory, and the same job gave other losses each time, or none that were
// finite.
#include "tests/regress/staged_run.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

TEST(Regress0135, StagesWithStateOnTheHostTrainToTheSameLossesEachTime) {
    const TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 4000));
    RankConfig config = test::staged_run(dir.file("data"), {256, 512, 256, 768, 512});
    config.plan.memory = {64, 64};
    for (const int ring : {1, 2}) {
        config.plan.mesh = Mesh::make(1, ring, 1, 1).value();
        const std::vector<double> first = test::losses_of(config);
        for (int again = 0; again < 3; ++again)
            EXPECT_EQ(test::losses_of(config), first) << "ring " << ring;
    }
}

}  // namespace
}  // namespace rm
