#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "controller/store/backup.h"
#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"
#include "controller/store/telemetry_store.h"
#include "tests/controller/store/stored_events.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::vector<AuditEvent> events_in(const std::string& path) {
    Result<std::vector<AuditEvent>> events = read_events(path);
    RM_CHECK(events.ok(), "{}", events.error().message);
    return *events;
}

// A world that commits every outcome.
struct Kept : World {
    TempDir directory;
    std::string path = directory.file("control.db");
    std::unique_ptr<Store> store = open_control_store(path).value();

    Kept() { commit(rm::apply(fresh(), {now, 0, FoundCluster{{"cluster-1"}}})); }

    State& fresh() {
        state = State{};
        return state;
    }
    void commit(const Outcome& outcome) {
        const Status status = store->commit(state, outcome.changes, outcome.events);
        ASSERT_TRUE(status) << status.error().message;
    }
    void feed(InputBody body) { commit(apply(std::move(body))); }
    State reopened() {
        store.reset();
        store = open_control_store(path).value();
        return store->load().value();
    }
};

JobSpec rich_spec() {
    JobSpec spec = small_spec(Mesh::make(1, 4, 1, 1, 2).value());
    spec.zero = 3;
    spec.data.documents = Documents::separate;
    spec.data.positions = Positions::running;
    spec.optimizer.moments = "bf16";
    spec.optimizer.gradients = "bf16";
    spec.optimizer.max_skipped = 4;
    spec.memory = {.tile = 64,
                   .chunk = 128,
                   .keep = Keep::input,
                   .alpha = 1.0 / 3,
                   .offload = Switch::on,
                   .windows = Switch::off,
                   .keep_every = 2,
                   .keep_precision = KeptPrecision::fp8,
                   .prefetch = 3,
                   .arena = ArenaReuse::off,
                   .device = Bytes{std::int64_t{40} << 30},
                   .host = Bytes{1000}};
    spec.stages[0].batch = 16384;
    spec.stages.push_back({.context = 16384,
                           .batch = 32768,
                           .tokens = 1 << 20,
                           .rope_theta = 15.3e6,
                           .learning_rate = 0.1,
                           .warmup_steps = 3,
                           .schedule = Schedule::cosine,
                           .final_learning_rate = 1e-5});
    spec.seed = ~std::uint64_t{0};
    spec.model = {.preset = "", .from = "/models/llama"};
    spec.data.sources = {{"/data/books", 1.0 / 3}, {"/data/c@de", 2.0 / 3}};
    spec.exports.huggingface = "/shared/out";
    spec.checkpoint = {.dir = "/shared/ckpt", .every_steps = 10, .keep = 3, .every = {90}};
    spec.resources = {
        .devices = 4, .kind = "cpu", .placement = {{{"a"}, 0}, {{"a"}, 1}, {{"a"}, 2}, {{"b"}, 0}}};
    return spec;
}

// Takes a job from its submission to a failure, through all tables.
void live_a_life(Kept& world) {
    world.feed(NodeHello{hello_of("a", 3)});
    world.feed(NodeHello{hello_of("b", 1)});
    world.feed(SubmitJob{{"r1"}, rich_spec(), "name: 'a \"b\"\\n'\n# ümlaut\n", 1});
    const JobId id = world.state.requests.at({"r1"});
    world.feed(PlanReady{id, 1, Reasons{{"one; of two", "do it", ReasonKind::files}, {"two"}}});
    Plan plan{.mesh = *rich_spec().parallel,
              .zero = 3,
              .placement = {{{"a"}, 0}, {{"a"}, 1}, {{"a"}, 2}, {{"b"}, 0}},
              .memory = resolve_memory(rich_spec().memory)};
    world.feed(PlanReady{id, world.state.planning_version, plan});
    const Epoch epoch = world.epoch_of(id);
    world.feed(
        NodeStatus{{"b"}, status_of(epoch, id, {ended(3, 1, "words\nof rank 3")}, Left::no)});
    world.feed(NodeHello{hello_of("a", 2)});
    world.feed(SubmitJob{{"r2"}, small_spec(), "", 2});
    Hello measured = hello_of("a", 2);
    measured.profiles = {{"L40S", "570.86.10", "b1", 1.8e14, "{\n\"name\": \"L40S\"}\n"}};
    world.feed(NodeHello{measured});
}

TEST(Store, LoadsWhatWasCommitted) {
    Kept world;
    live_a_life(world);
    const State loaded = world.reopened();
    EXPECT_EQ(flatten_tables(loaded), flatten_tables(world.state));
    const Job& job = loaded.jobs.at(world.state.requests.at({"r1"}));
    EXPECT_EQ(job.spec, rich_spec());
    EXPECT_EQ(loaded.attempts.begin()->second.memory, resolve_memory(rich_spec().memory));
    EXPECT_EQ(job.yaml, "name: 'a \"b\"\\n'\n# ümlaut\n");
    EXPECT_EQ(loaded.cluster, ClusterId{"cluster-1"});
    EXPECT_EQ(loaded.next_epoch, world.state.next_epoch);
}

TEST(Store, TheRequestIdSurvivesARestart) {
    Kept world;
    live_a_life(world);
    const JobId id = world.state.requests.at({"r1"});
    world.state = world.reopened();
    rebuild_indexes(world.state, world.now);
    EXPECT_EQ(reply(world.apply(SubmitJob{{"r1"}, rich_spec(), "", 9}, 1)).value(), id);
}

TEST(Store, FoldingTheEventLogOnDiskGivesTheTables) {
    Kept world;
    live_a_life(world);
    Tables folded;
    for (const AuditEvent& event : events_in(world.path))
        fold(folded, event);
    EXPECT_EQ(folded, flatten_tables(world.reopened()));
}

TEST(Store, AFailedCommitLeavesNothingBehind) {
    Kept world;
    const std::size_t before = events_in(world.path).size();
    {
        Database other = Database::open(world.path, Access::write).value();
        ASSERT_TRUE(other.execute("DROP TABLE stages"));
    }
    // The job's row is inserted, its stages are not: the whole transaction must be rolled back.
    const Outcome outcome = world.apply(SubmitJob{{"r1"}, small_spec(), "", 1});
    EXPECT_FALSE(world.store->commit(world.state, outcome.changes, outcome.events));
    EXPECT_EQ(events_in(world.path).size(), before);
    Database database = Database::open(world.path, Access::read).value();
    Statement count = database.prepare("SELECT count(*) FROM jobs").value();
    ASSERT_TRUE(count.step().value());
    EXPECT_EQ(count.whole(0), 0);
}

TEST(Store, HoldsNoTelemetry) {
    Kept world;
    Database database = Database::open(world.path, Access::read).value();
    Statement tables =
        database
            .prepare(
                "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE "
                "type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name)")
            .value();
    ASSERT_TRUE(tables.step().value());
    EXPECT_EQ(tables.text(0), "attempts devices events jobs meta nodes placements profiles stages");
}

TEST(Store, WritesAheadAndSynchronously) {
    Kept world;
    Database database = Database::open(world.path, Access::read).value();
    Statement mode = database.prepare("PRAGMA journal_mode").value();
    ASSERT_TRUE(mode.step().value());
    EXPECT_EQ(mode.text(0), "wal");
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
        ASSERT_TRUE(database.execute("DROP TABLE profiles; PRAGMA user_version = 2"));
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

// Changes the tables as a program that knows one member less, or one more, leaves them.
void change_tables(const std::string& path, const char* sql) {
    Database database = Database::open(path, Access::write).value();
    ASSERT_TRUE(database.execute(format("{}; PRAGMA journal_mode = DELETE", sql)));
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

TEST(Reasons, OfAKindThatIsNotKnownStandAsText) {
    Reasons reasons;
    const std::string line = std::string("weather\x1f") + "it rains\x1f" + "wait";
    ASSERT_TRUE(decode(Value(line), reasons));
    ASSERT_EQ(reasons.size(), 1u);
    EXPECT_EQ(reasons[0].kind, Reason().kind);
    EXPECT_NE(reasons[0].text.find("it rains"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
