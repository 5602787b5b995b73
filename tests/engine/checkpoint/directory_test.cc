#include "engine/checkpoint/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/file/hash.h"
#include "tests/engine/checkpoint/latest.h"
#include "tests/engine/checkpoint/sample_state.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kShard[] = "shard-00001-of-00002.safetensors";

// Two whole checkpoints, e1-s10 and e1-s20; tests damage the newer.
class FindLatest : public testing::Test {
protected:
    FindLatest() {
        save_or_fail(dir_.path(), {{1}, 10}, old_);
        save_or_fail(dir_.path(), {{1}, 20}, random_state(20));
    }
    std::string newer(std::string_view file) const { return dir_ / format("e1-s20/{}", file); }

    void expect_old_with_note(const std::string& reason) {
        const auto found = find_latest_checkpoint(dir_.path());
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->name, (CheckpointName{{1}, 10}));
        EXPECT_EQ(found->path, dir_ / "e1-s10");
        ASSERT_EQ(found->notes.size(), 1u);
        EXPECT_THAT(found->notes[0], testing::StartsWith("checkpoint e1-s20 skipped: "));
        EXPECT_THAT(found->notes[0], HasSubstr(reason));
        EXPECT_THAT(found->notes[0], testing::EndsWith("; using e1-s10"));
        expect_holds(found->path, old_);
    }

    TempDir dir_;
    TestState old_ = random_state(10);
};

TEST_F(FindLatest, TakesTheNewestWholeOne) {
    auto found = find_latest_checkpoint(dir_.path());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->name, (CheckpointName{{1}, 20}));
    EXPECT_THAT(found->notes, IsEmpty());
    save_or_fail(dir_.path(), {{2}, 5}, old_);
    EXPECT_EQ(find_latest_checkpoint(dir_.path())->name, (CheckpointName{{2}, 5}));
}

TEST_F(FindLatest, PassesOverATruncatedShard) {
    const auto bytes = std::filesystem::file_size(newer(kShard));
    std::filesystem::resize_file(newer(kShard), bytes - 100);
    expect_old_with_note(
        format("{} is {} bytes, the manifest says {}", kShard, bytes - 100, bytes));
}

TEST_F(FindLatest, PassesOverAFlippedByteWhereverItIs) {
    const std::string good = read_text(newer(kShard));
    for (std::size_t i = 0; i < good.size(); i += 61) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x10);
        write_text(newer(kShard), bad);
        expect_old_with_note(format("{} has hash", kShard));
    }
}

TEST_F(FindLatest, PassesOverAMissingShard) {
    std::filesystem::remove(newer(kShard));
    expect_old_with_note(format("{} is missing", kShard));
}

TEST_F(FindLatest, PassesOverAMissingManifest) {
    std::filesystem::remove(newer("manifest.json"));
    expect_old_with_note("e1-s20/manifest.json: No such file or directory");
}

TEST_F(FindLatest, PassesOverABrokenManifest) {
    const std::string good = read_text(newer("manifest.json"));
    write_text(newer("manifest.json"), good.substr(0, good.size() / 2));
    expect_old_with_note("manifest.json: is not JSON");
    write_text(newer("manifest.json"), "");
    expect_old_with_note("manifest.json: is not JSON (0 bytes)");
    write_text(newer("manifest.json"), "{}");
    expect_old_with_note("manifest.json: 'format' is missing");
}

TEST_F(FindLatest, PassesOverAHostileHeaderEvenWithTheRightHash) {
    Manifest manifest = parse_manifest(read_text(newer("manifest.json"))).value();
    std::string shard = read_text(newer(kShard));
    shard.replace(0, 8, std::string(8, '\xff'));
    write_text(newer(kShard), shard);
    manifest.shards[1].hash = xxh3_hex(shard);
    write_text(newer("manifest.json"), encode_manifest(manifest));
    expect_old_with_note(format("{}: claims a header of 18446744073709551615 bytes", kShard));
}

TEST_F(FindLatest, PassesOverATableThatIsNotThatOfTheShards) {
    Manifest manifest = parse_manifest(read_text(newer("manifest.json"))).value();
    StoredSlice& stored = manifest.shards[1].slices[0];
    stored.entry = "other";
    write_text(newer("manifest.json"), encode_manifest(manifest));
    expect_old_with_note(format("{} has no other", kShard));
}

TEST_F(FindLatest, PassesOverACopyUnderAnotherName) {
    std::filesystem::remove_all(dir_ / "e1-s20");
    std::filesystem::copy(dir_ / "e1-s10", dir_ / "e1-s20");
    expect_old_with_note("manifest.json is that of e1-s10");
}

TEST_F(FindLatest, IgnoresUnfinishedOnesButMentionsThem) {
    std::filesystem::rename(dir_ / "e1-s20", dir_ / ".tmp-e1-s20");
    write_text(dir_ / ".tmp-e1-s4/shard", "older: not worth a word");
    write_text(dir_ / "notes.txt", "x");
    expect_old_with_note("never finished (.tmp-e1-s20)");
}

TEST_F(FindLatest, GivesAllReasonsWhenNoneIsWhole) {
    std::filesystem::remove(newer("manifest.json"));
    std::filesystem::remove(dir_ / format("e1-s10/{}", kShard));
    const auto found = find_latest_checkpoint(dir_.path());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::data_loss);
    EXPECT_EQ(found.error().fact, ErrorFact::no_whole_checkpoint);
    EXPECT_THAT(found.error().message, HasSubstr("checkpoint e1-s20 skipped"));
    EXPECT_THAT(found.error().message, HasSubstr("checkpoint e1-s10 skipped"));
}

TEST(FindLatestNone, IsNotFound) {
    TempDir dir;
    EXPECT_EQ(find_latest_checkpoint(dir.path()).error().code, ErrorCode::not_found);
    EXPECT_EQ(find_latest_checkpoint(dir / "nowhere").error().code, ErrorCode::not_found);
    write_text(dir / "file", "x");
    EXPECT_EQ(find_latest_checkpoint(dir / "file").error().code, ErrorCode::unavailable);
}

class Prune : public testing::Test {
protected:
    Prune() {
        for (const std::int64_t step : {10, 20, 30})
            save_or_fail(dir_.path(), {{2}, step}, state_);
        save_or_fail(dir_.path(), {{1}, 40}, state_);
        save_or_fail(dir_.path(), {{3}, 5}, state_);
    }
    std::vector<std::string> left() {
        std::vector<std::string> names;
        const DirectoryListing listing = list_checkpoints(dir_.path()).value();
        for (const CheckpointName& name : listing.checkpoints) {
            names.push_back(to_string(name));
        }
        return names;
    }
    std::vector<CheckpointName> prune(const KnownCheckpoints& known, int keep) {
        Activity activity;
        return prune_checkpoints(dir_.path(), known, keep, none_, activity).value();
    }
    TempDir dir_;
    TestState state_ = random_state(1);
    Faults none_;
};

TEST_F(Prune, KeepsTheNewestOfItsOwnAndOfOlderEpochs) {
    EXPECT_THAT(prune({.epoch = {2}, .good = {{2}, 30}}, 3), ElementsAre(CheckpointName{{1}, 40}));
    EXPECT_THAT(left(), ElementsAre("e3-s5", "e2-s30", "e2-s20", "e2-s10"));
    EXPECT_THAT(prune({.epoch = {2}, .good = {{2}, 30}}, 1),
                ElementsAre(CheckpointName{{2}, 20}, CheckpointName{{2}, 10}));
    EXPECT_THAT(left(), ElementsAre("e3-s5", "e2-s30"));
    EXPECT_TRUE(list_checkpoints(dir_.path())->temporary.empty());
}

TEST_F(Prune, NeverRemovesTheNewestKnownToBeGood) {
    EXPECT_THAT(prune({.epoch = {2}, .good = {{2}, 10}}, 1), ElementsAre(CheckpointName{{1}, 40}));
    EXPECT_THAT(left(), ElementsAre("e3-s5", "e2-s30", "e2-s20", "e2-s10"));
}

TEST_F(Prune, DoesNotCountTheDamaged) {
    const KnownCheckpoints known{.epoch = {2}, .good = {{2}, 30}, .bad = {{{2}, 20}}};
    EXPECT_THAT(prune(known, 2), ElementsAre(CheckpointName{{2}, 20}, CheckpointName{{1}, 40}));
    EXPECT_THAT(left(), ElementsAre("e3-s5", "e2-s30", "e2-s10"));
}

// Turns shards into directories, which prune can list and remove but not read: a look into one
// would fail.
TEST_F(Prune, LooksIntoNone) {
    for (const char* name : {"e1-s40", "e2-s10", "e2-s20", "e2-s30"}) {
        std::filesystem::remove(dir_ / format("{}/{}", name, kShard));
        std::filesystem::create_directory(dir_ / format("{}/{}", name, kShard));
        write_text(dir_ / format("{}/manifest.json", name), "not a manifest");
    }
    EXPECT_THAT(
        prune({.epoch = {2}, .good = {{2}, 30}}, 1),
        ElementsAre(CheckpointName{{2}, 20}, CheckpointName{{2}, 10}, CheckpointName{{1}, 40}));
}

TEST_F(Prune, LeavesNoHalfACheckpointWhenItDies) {
    Faults faults({{"checkpoint.remove", 1}});
    Activity activity;
    EXPECT_THROW((void)prune_checkpoints(dir_.path(), {.epoch = {2}, .good = {{2}, 30}}, 1, faults,
                                         activity),
                 InjectedFault);
    EXPECT_THAT(left(), ElementsAre("e3-s5", "e2-s30", "e2-s10", "e1-s40"));
    ASSERT_TRUE(begin_checkpoint(dir_.path(), {{2}, 40}, none_));
    EXPECT_FALSE(std::filesystem::exists(dir_ / ".tmp-e2-s20.removed"));
}

TEST_F(Prune, LeftoversOfOlderEpochsGo) {
    for (const char* name : {".tmp-e1-s50", ".tmp-e2-s35", ".tmp-e3-s6", ".tmp-e1-s9.removed"})
        write_text(dir_ / format("{}/shard", name), "x");
    ASSERT_TRUE(remove_leftovers(dir_.path(), {2}, none_));
    const auto left = list_checkpoints(dir_.path())->temporary;
    ASSERT_EQ(left.size(), 2u);
    EXPECT_EQ(left[0].file, ".tmp-e3-s6");
    EXPECT_EQ(left[1].file, ".tmp-e2-s35");
}

}  // namespace
}  // namespace rm
