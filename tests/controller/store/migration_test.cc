// Databases of older and newer programs.
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "controller/store/sqlite.h"
#include "tests/controller/store/kept_world.h"

namespace rm::test {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

constexpr const char* kFirst = "CREATE TABLE t (a INTEGER)";
constexpr const char* kSecond = "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7";
constexpr const char* kBroken = "ALTER TABLE missing ADD COLUMN b INTEGER";

TEST(Migration, GoesForwardAndKeepsABackup) {
    TempDir directory;
    const std::string path = directory.file("x.db");
    {
        const std::array<const char*, 1> migrations = {kFirst};
        Database database = open_migrated(path, {migrations}, Durability::full).value();
        ASSERT_TRUE(database.execute("INSERT INTO t VALUES (1)"));
    }
    const std::array<const char*, 2> migrations = {kFirst, kSecond};
    Database database = open_migrated(path, {migrations}, Durability::full).value();
    EXPECT_EQ(database.user_version().value(), 2);
    Statement row = database.prepare("SELECT b FROM t").value();
    ASSERT_TRUE(row.step().value());
    EXPECT_EQ(row.whole(0), 7);
    Database backup = Database::open(path + ".before-2", Access::read).value();
    EXPECT_EQ(backup.user_version().value(), 1);
}

// Columns that the migrations after the second have added. Jobs and attempts from before ZeRO
// stages, separate documents and memory policies keep their values.
const std::map<const char*, std::vector<const char*>> kNewColumns = {
    {"meta", {"restored"}},
    {"nodes", {"drained"}},
    {"jobs",
     {"zero",
      "data_documents",
      "data_positions",
      "optimizer_place",
      "optimizer_moments",
      "optimizer_gradients",
      "memory_keep",
      "memory_alpha",
      "memory_offload",
      "memory_windows",
      "memory_keep_every",
      "memory_keep_precision",
      "memory_prefetch",
      "memory_arena",
      "memory_device",
      "memory_host",
      "retry_at",
      "excluded",
      "continues",
      "recovered",
      "checkpoint_from",
      "retry_max",
      "retry_lost_after",
      "priority",
      "resources_placement",
      "checkpoint_every",
      "optimizer_max_skipped"}},
    {"attempts",
     {"zero", "keep", "alpha", "kept", "keep_every", "keep_precision", "working", "prefetch",
      "arena", "device_limit", "host_limit", "failure_class", "may_publish"}}};

TEST(Migration, GivesOlderJobsTheDefaultsOfNewColumns) {
    Kept world;
    live_a_life(world);
    world.store.reset();
    {
        Database database = Database::open(world.path, Access::write).value();
        for (const auto& [table, columns] : kNewColumns) {
            for (const char* column : columns) {
                ASSERT_TRUE(
                    database.execute(format("ALTER TABLE {} DROP COLUMN {}", table, column)));
            }
        }
        ASSERT_TRUE(
            database.execute("DROP TABLE profiles; DROP TABLE suites; DROP TABLE "
                             "prompts; PRAGMA user_version = 2"));
    }
    const State loaded = world.reopened();
    JobSpec old = rich_spec();
    old.zero = 0;
    old.data.documents = Documents::joined;
    old.data.positions = Positions::reset;
    old.optimizer.moments = "fp32";
    old.optimizer.gradients = "fp32";
    old.optimizer.max_skipped = 10;
    old.memory = {.tile = 64, .chunk = 128};
    old.retry = {};
    old.resources.placement.clear();
    old.checkpoint.every = CheckpointSpec().every;
    old.evaluation.suites.clear();
    old.evaluation.prompts.clear();
    EXPECT_EQ(loaded.jobs.at(world.state.requests.at({"r1"})).spec, old);
    const Attempt& attempt = loaded.attempts.begin()->second;
    EXPECT_EQ(attempt.zero, 0);
    EXPECT_EQ(attempt.memory, resolve_memory(old.memory));
}

TEST(Migration, ThatFailsChangesNothing) {
    TempDir directory;
    const std::string path = directory.file("x.db");
    {
        const std::array<const char*, 1> migrations = {kFirst};
        ASSERT_TRUE(open_migrated(path, {migrations}, Durability::full));
    }
    const std::array<const char*, 2> migrations = {kFirst, kBroken};
    EXPECT_FALSE(open_migrated(path, {migrations}, Durability::full));
    EXPECT_EQ(Database::open(path, Access::read).value().user_version().value(), 1);
}

TEST(Migration, ANewerDatabaseIsRefusedUntouched) {
    TempDir directory;
    const std::string path = directory.file("control.db");
    { ASSERT_TRUE(open_control_store(path)); }
    {
        Database database = Database::open(path, Access::write).value();
        ASSERT_TRUE(database.execute("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE"));
    }
    const std::string before = contents(path);
    const auto refused = open_control_store(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(refused.error().message.find("schema 99"), std::string::npos);
    EXPECT_EQ(contents(path), before);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST(Migration, AColumnThatIsMissingComesBackWithItsDefault) {
    Kept world;
    live_a_life(world);
    world.store.reset();
    change_tables(world.path,
                  "ALTER TABLE jobs DROP COLUMN optimizer_max_skipped; "
                  "ALTER TABLE jobs DROP COLUMN memory_arena; "
                  "ALTER TABLE stages DROP COLUMN schedule; "
                  "ALTER TABLE attempts DROP COLUMN cause_rank");
    const State loaded = world.reopened();
    JobSpec old = rich_spec();
    old.optimizer.max_skipped = OptimizerSpec().max_skipped;
    old.memory.arena = MemorySpec().arena;
    old.stages[1].schedule = StageSpec().schedule;
    EXPECT_EQ(loaded.jobs.at(world.state.requests.at({"r1"})).spec, old);
    EXPECT_EQ(loaded.attempts.begin()->second.cause_rank, -1);
    Database backup =
        Database::open(world.path + ".before-attempts.cause_rank", Access::read).value();
    EXPECT_FALSE(backup.prepare("SELECT schedule FROM stages"));
    EXPECT_EQ(flatten_tables(world.reopened()), flatten_tables(loaded));
}

TEST(Migration, AColumnThatIsNotKnownIsRefusedUntouched) {
    TempDir directory;
    const std::string path = directory.file("control.db");
    { ASSERT_TRUE(open_control_store(path)); }
    change_tables(path, "ALTER TABLE jobs ADD COLUMN novel TEXT NOT NULL DEFAULT ''");
    const std::string before = contents(path);
    const auto refused = open_control_store(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(refused.error().message.find("the column jobs.novel"), std::string::npos);
    EXPECT_EQ(contents(path), before);
}

TEST(Migration, ProgramsThatDoNotCompareColumnsRefuseTheTables) {
    TempDir directory;
    const std::string path = directory.file("control.db");
    { ASSERT_TRUE(open_control_store(path)); }
    EXPECT_FALSE(check_not_newer(path, {control_migrations().first(8)}));
}

TEST(Migration, AFileThatIsNoDatabaseIsAnError) {
    TempDir directory;
    const std::string path = directory.file("control.db");
    std::ofstream(path) << std::string(5000, 'x');
    const auto refused = open_control_store(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(path), std::string::npos);
}

}  // namespace
}  // namespace rm::test
