#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"
#include "tests/controller/store/kept_world.h"
#include "tests/controller/store/stored_events.h"

namespace rm::test {
namespace {

std::vector<AuditEvent> events_in(const std::string& path) {
    Result<std::vector<AuditEvent>> events = read_events(path);
    RM_CHECK(events.ok(), "{}", events.error().message);
    return *events;
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
    EXPECT_EQ(tables.text(0),
              "attempts devices events jobs meta nodes placements profiles "
              "prompts stages suites");
}

TEST(Store, WritesAheadAndSynchronously) {
    Kept world;
    Database database = Database::open(world.path, Access::read).value();
    Statement mode = database.prepare("PRAGMA journal_mode").value();
    ASSERT_TRUE(mode.step().value());
    EXPECT_EQ(mode.text(0), "wal");
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
