#include "controller/store/backup.h"

#include <filesystem>
#include <fstream>

#include "controller/store/sqlite.h"
#include "controller/store/telemetry_store.h"
#include "tests/controller/store/kept_world.h"

namespace rm::test {
namespace {

struct Restorable : Kept {
    std::string state_dir = directory.path();
    std::string backup = directory.file("backup.db");
    std::string aside;

    // Makes the backup early; the job's life continues after it.
    Restorable() {
        feed(SubmitJob{{"early"}, small_spec(), "", 7});
        RM_CHECK(backup_database(path, backup).ok(), "there is no backup");
        live_a_life(*this);
    }
    Status restore() {
        RM_TRY(aside, restore_databases({backup, ""}, state_dir, now));
        return {};
    }
};

TEST(Backup, IsWholeWhileTheStoreWritesOn) {
    Restorable world;
    const State copy = open_control_store(world.backup).value()->load().value();
    EXPECT_EQ(copy.jobs.size(), 1u);
    EXPECT_EQ(world.state.jobs.size(), 3u);
}

TEST(Backup, KeepsTheNewestFew) {
    Kept world;
    const std::string directory = world.directory.file("backups");
    std::string last;
    for (int i = 0; i < 5; ++i) {
        world.now.micros += 600'000'000;
        last = keep_backup(world.path, directory, world.now, 3).value();
    }
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        files += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, 3);
    EXPECT_TRUE(std::filesystem::exists(last));
}

TEST(Restore, PutsTheBackupInPlaceAndKeepsWhatWasThere) {
    Restorable world;
    const Tables later = flatten_tables(world.state);
    world.store.reset();
    ASSERT_TRUE(world.restore());
    EXPECT_TRUE(std::filesystem::exists(restore_marker(world.state_dir)));
    EXPECT_EQ(world.reopened().jobs.size(), 1u);
    const State replaced = open_control_store(world.aside).value()->load().value();
    EXPECT_EQ(flatten_tables(replaced), later);
}

// As after kill -9: what was committed last is in the log only, and the log is still there.
TEST(Restore, LeavesNoLogOfTheOldTablesBesideTheBackup) {
    const Restorable world;
    const TempDir crashed;
    for (const char* suffix : {"", "-wal"})
        std::filesystem::copy_file(world.path + suffix, crashed.file("control.db") + suffix);
    ASSERT_GT(std::filesystem::file_size(crashed.file("control.db-wal")), 0u);
    const auto aside = restore_databases({world.backup, ""}, crashed.path(), world.now);
    ASSERT_TRUE(aside) << aside.error().message;
    EXPECT_FALSE(std::filesystem::exists(crashed.file("control.db-wal")));
    const auto load = [](const std::string& path) {
        return flatten_tables(open_control_store(path).value()->load().value());
    };
    EXPECT_EQ(load(crashed.file("control.db")), load(world.backup));
    EXPECT_EQ(load(*aside), flatten_tables(world.state)) << "with what only the log held";
}

TEST(Restore, RefusesWhatIsDamagedAndTouchesNothing) {
    Restorable world;
    const Tables later = flatten_tables(world.state);
    world.store.reset();
    std::fstream(world.backup, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(5000)
        .write(std::string(9000, 'x').data(), 9000);
    EXPECT_FALSE(world.restore());
    std::ofstream(world.backup) << "no database";
    EXPECT_FALSE(world.restore());
    EXPECT_FALSE(std::filesystem::exists(restore_marker(world.state_dir)));
    EXPECT_EQ(flatten_tables(world.reopened()), later);
}

TEST(Restore, PutsTheTelemetryInPlaceToo) {
    Restorable world;
    const TempDir elsewhere;
    const std::string telemetry = world.directory.file("telemetry-backup.db");
    const std::string database = world.directory.file("telemetry.db");
    ASSERT_TRUE(TelemetryStore::open({database, world.directory.file("logs")}, {1 << 20}));
    ASSERT_TRUE(backup_database(database, telemetry));
    ASSERT_TRUE(restore_databases({world.backup, telemetry}, elsewhere.path(), world.now));
    EXPECT_TRUE(std::filesystem::exists(elsewhere.file("telemetry.db")));
}

TEST(Restore, RefusesOneDatabaseInPlaceOfTheOther) {
    Restorable world;
    const TempDir elsewhere;
    const auto refused =
        restore_databases({world.backup, world.backup}, elsewhere.path(), world.now);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              format("{} is not a backup of a controller's telemetry", world.backup));
    EXPECT_FALSE(std::filesystem::exists(elsewhere.file("control.db")));
}

TEST(Restore, RefusesABackupOfANewerProgram) {
    Restorable world;
    world.store.reset();
    change_tables(world.backup, "ALTER TABLE stages ADD COLUMN novel INTEGER NOT NULL DEFAULT 0");
    const Status refused = world.restore();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_FALSE(std::filesystem::exists(restore_marker(world.state_dir)));
}

TEST(Space, TheReserveIsGivenOnceAndTakenBack) {
    TempDir directory;
    const auto space = SpaceGuard::open(directory.path(), {}).value();
    EXPECT_TRUE(std::filesystem::exists(directory.file("reserve")));
    EXPECT_TRUE(space->release_reserve());
    EXPECT_FALSE(std::filesystem::exists(directory.file("reserve")));
    EXPECT_FALSE(space->release_reserve());
    space->restore_reserve();
    EXPECT_TRUE(std::filesystem::exists(directory.file("reserve")));
}

}  // namespace
}  // namespace rm::test
