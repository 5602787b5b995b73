// With a missing, empty or young control.db, the controller silently founded a new cluster beside
// the backups and logs of the old one and refused its workers with advice that would have ended
// their jobs. The error for a damaged one named neither `restore` nor the newest backup; and in its
// first ten minutes a controller had no backup.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "controller/store/backup.h"
#include "tests/controller/running.h"

namespace rm::test {
namespace {

namespace fs = std::filesystem;

std::string first_backup(const Running& running) {
    const std::string directory = running.directory.file("state/backups");
    for (int i = 0; i < 2000; ++i) {
        if (std::string found = newest_backup(directory); !found.empty()) return found;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "";
}

class SecondCluster : public ::testing::Test {
protected:
    // A cluster that has a job and a backup, and does not run.
    SecondCluster() {
        backup_ = first_backup(running_);
        running_.submit(small_spec());
        running_.daemon.reset();
    }
    std::string start_error() {
        const auto started = Daemon::start(running_.options());
        return started ? "it started" : started.error().message;
    }
    void expect_advice(const std::string& error) const {
        EXPECT_NE(error.find(format("`ringmaster restore {} --state {}`", backup_,
                                    running_.directory.file("state"))),
                  std::string::npos)
            << error;
    }

    Running running_;
    const std::string tables_ = running_.directory.file("state/control.db");
    std::string backup_;
};

TEST_F(SecondCluster, HasABackupFromTheBeginning) {
    EXPECT_NE(backup_, "");
    running_.start();
    running_.restart();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_EQ(newest_backup(running_.directory.file("state/backups")), backup_)
        << "starting again and again does not push out older ones";
}

TEST_F(SecondCluster, IsNotFoundedWhereTablesWereRemoved) {
    fs::remove(tables_);
    const std::string error = start_error();
    EXPECT_NE(error.find("holds no cluster"), std::string::npos) << error;
    expect_advice(error);
}

TEST_F(SecondCluster, IsNotFoundedWhereTablesWereEmptied) {
    fs::resize_file(tables_, 0);
    expect_advice(start_error());
}

TEST_F(SecondCluster, DamagedTablesNameTheNewestBackup) {
    {
        std::fstream file(tables_, std::ios::in | std::ios::out | std::ios::binary);
        file.write("no database at all", 18);
    }
    expect_advice(start_error());
}

TEST_F(SecondCluster, TheBackupGoesInThePlaceOfDamagedTables) {
    {
        std::fstream file(tables_, std::ios::in | std::ios::out | std::ios::binary);
        file.write("no database at all", 18);
    }
    const auto restored = restore_state({backup_, ""}, running_.directory.file("state"));
    ASSERT_TRUE(restored) << restored.error().message;
    running_.start();
}

// Nothing of a young cluster is in its tables' file yet: all of it is in the log beside it.
TEST(Regress0034, IsNotFoundedWhereTheLogOfYoungTablesWasLost) {
    Running young;
    ASSERT_NE(first_backup(young), "");
    const std::string tables = young.directory.file("state/control.db");
    const std::string without_log = young.directory.file("control.db");
    fs::copy_file(tables, without_log);
    young.daemon.reset();
    fs::rename(without_log, tables);
    ASSERT_FALSE(fs::exists(tables + "-wal"));
    const auto started = Daemon::start(young.options());
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message.find("holds no cluster"), std::string::npos)
        << started.error().message;
}

TEST(Regress0034, AFreshDirectoryHasNoCopiesOfEmptyTables) {
    const Running running;
    for (const auto& entry : fs::directory_iterator(running.directory.file("state")))
        EXPECT_EQ(entry.path().string().find(".before-"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace rm::test
