#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/checkpoint/latest.h"
#include "tests/engine/checkpoint/sample_state.h"

namespace rm {
namespace {

enum class Outcome { saved, died, refused };

Outcome save_with(Faults& faults, const std::string& dir, const CheckpointName& name,
                  const TestState& state) {
    try {
        return save(dir, name, state, faults) ? Outcome::saved : Outcome::refused;
    } catch (const InjectedFault&) {
        return Outcome::died;
    }
}

// A restart must find either the previous checkpoint and a note about the lost one, or the new one
// whole.
void expect_previous_or_new(const std::string& dir, const TestState& previous,
                            const TestState& next) {
    const auto found = find_latest_checkpoint(dir);
    ASSERT_TRUE(found) << found.error().message;
    if (found->name == CheckpointName{{1}, 20}) {
        EXPECT_TRUE(found->notes.empty());
        expect_holds(found->path, next);
        return;
    }
    EXPECT_EQ(found->name, (CheckpointName{{1}, 10}));
    expect_holds(found->path, previous);
    ASSERT_EQ(found->notes.size(), 1u);
    EXPECT_THAT(found->notes[0], testing::HasSubstr("checkpoint e1-s20 skipped"));
    EXPECT_THAT(found->notes[0], testing::HasSubstr("using e1-s10"));
}

class TornSave : public testing::TestWithParam<const char*> {};

// The save dies at the first point it passes, then at the second, and so on until it survives.
TEST_P(TornSave, LeavesThePreviousCheckpoint) {
    const TestState previous = random_state(10);
    const TestState next = random_state(20);
    TempDir parent;
    int torn = 0;
    for (int passage = 1;; ++passage) {
        SCOPED_TRACE(format("{}@{}", GetParam(), passage));
        ASSERT_LT(passage, 100);
        const std::string dir = parent / format("{}", passage);
        save_or_fail(dir, {{1}, 10}, previous);
        Faults faults({{GetParam(), passage}});
        if (save_with(faults, dir, {{1}, 20}, next) == Outcome::saved) break;
        ++torn;
        expect_previous_or_new(dir, previous, next);

        // The next attempt of the same epoch clears up and succeeds.
        save_or_fail(dir, {{1}, 20}, next);
        EXPECT_TRUE(list_checkpoints(dir)->temporary.empty());
        expect_holds(dir + "/e1-s20", next);
    }
    EXPECT_GT(torn, 0) << "the point is never passed";
}

INSTANTIATE_TEST_SUITE_P(EveryPoint, TornSave,
                         testing::Values("checkpoint.create", "checkpoint.write", "checkpoint.full",
                                         "checkpoint.fsync", "checkpoint.rename",
                                         "checkpoint.remove"),
                         [](const auto& info) {
                             return std::string(info.param).substr(sizeof("checkpoint.") - 1);
                         });

// Overwriting a checkpoint of the same name always leaves at least one of the two whole.
TEST(TornReplace, LeavesTheOldOrTheNew) {
    const TestState old = random_state(1);
    const TestState next = random_state(2);
    TempDir parent;
    for (const char* point : {"checkpoint.rename", "checkpoint.remove", "checkpoint.fsync"}) {
        for (int passage = 1;; ++passage) {
            SCOPED_TRACE(format("{}@{}", point, passage));
            const std::string dir = parent / format("{}-{}", point, passage);
            save_or_fail(dir, {{1}, 10}, old);
            Faults faults({{point, passage}});
            if (save_with(faults, dir, {{1}, 10}, next) == Outcome::saved) break;
            const auto found = find_latest_checkpoint(dir);
            ASSERT_TRUE(found) << found.error().message;
            std::vector<std::byte> bytes(old.at("row").bytes.size());
            const auto checkpoint = Checkpoint::open(found->path, Verify::hashes);
            ASSERT_TRUE(CheckpointReader(*checkpoint).read(old.at("row").whole, bytes));
            EXPECT_TRUE(bytes == old.at("row").bytes || bytes == next.at("row").bytes);
        }
    }
}

}  // namespace
}  // namespace rm
