#include <gtest/gtest.h>

#include "controller/loops/audit_loop.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

struct Audit : testing::Test {
    TempDir directory;
    std::unique_ptr<AuditStore> store;
    std::unique_ptr<AuditReader> reader;
    ManualClock clock;

    void open(std::int64_t kept_refusals = 100'000) {
        store = AuditStore::open(directory.file("audit.db"), kept_refusals).value();
        reader = AuditReader::open(directory.file("audit.db")).value();
    }
    AuditEntry entry(const std::string& code, const std::string& reason = "") const {
        return {.time = clock.wall(),
                .principal = "alice",
                .peer = "ipv4:10.0.0.1:1234",
                .method = "/x/Y",
                .code = code,
                .reason = reason};
    }
    AuditEntry refusal(const std::string& reason) const {
        return entry("permission denied", reason);
    }
    std::vector<AuditRow> rows(const AuditFilter& filter = {.limit = 1000}) {
        return reader->list(filter).value();
    }
};

TEST_F(Audit, AllowedChangesHaveARowEach) {
    open();
    AuditLoop loop(*store);
    for (int i = 0; i < 3; ++i)
        loop.record(entry("ok"));
    loop.flush();
    EXPECT_EQ(rows().size(), 3u);
}

TEST_F(Audit, TheSameRefusalFromOtherPortsIsOneRowWithItsCountAndTimes) {
    open();
    AuditLoop loop(*store);
    const WallTime first = clock.wall();
    for (int i = 0; i < 1000; ++i) {
        AuditEntry again = refusal("no");
        again.peer = format("ipv4:10.0.0.1:{}", i);
        loop.record(again);
        clock.advance(Seconds{0.01});
    }
    loop.flush();
    ASSERT_EQ(rows().size(), 1u);
    EXPECT_EQ(rows()[0].count, 1000);
    EXPECT_EQ(rows()[0].entry.time, first);
    EXPECT_EQ((rows()[0].last - first).value, 9.99);
    clock.advance(Seconds{60});
    loop.record(refusal("no"));
    loop.flush();
    EXPECT_EQ(rows().size(), 2u) << "another minute, another row";
}

TEST_F(Audit, DifferentRefusalsBeyondALimitShareOneRow) {
    open();
    AuditLoop loop(*store);
    for (std::size_t i = 0; i < AuditLoop::kNewRefusals + 500; ++i)
        loop.record(refusal(format("reason {}", i)));
    loop.flush();
    const auto all = rows();
    ASSERT_EQ(all.size(), AuditLoop::kNewRefusals + 1);
    EXPECT_EQ(all[0].count, 500);
    EXPECT_EQ(all[0].entry.principal, "");
}

TEST_F(Audit, OldRefusalsMakeRoomAndChangesStay) {
    open(5);
    ASSERT_TRUE(store->add(entry("ok")));
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(store->add(refusal(format("{}", i))));
    const auto all = rows();
    ASSERT_EQ(all.size(), 6u);
    EXPECT_EQ(all[0].entry.reason, "19");
    EXPECT_EQ(all[4].entry.reason, "15");
    EXPECT_EQ(all[5].entry.code, "ok");
}

// A worker that kept reconnecting added two rows each time, and none was ever removed.
TEST_F(Audit, OldSessionsMakeRoomForTheirOwnKindOnly) {
    open(5);
    ASSERT_TRUE(store->add(entry("ok")));
    ASSERT_TRUE(store->add(refusal("no")));
    AuditEntry session = entry("ok");
    for (int i = 0; i < 20; ++i) {
        session.method = i % 2 == 0 ? "session begins" : "session ends";
        ASSERT_TRUE(store->add(session));
    }
    const auto all = rows();
    ASSERT_EQ(all.size(), 7u);
    EXPECT_EQ(all[0].entry.method, "session ends");
    EXPECT_EQ(all[4].entry.method, "session ends");
    EXPECT_EQ(all[5].entry.reason, "no");
    EXPECT_EQ(all[6].entry.code, "ok");
}

TEST_F(Audit, ListsAreFilteredAndPaged) {
    open();
    ASSERT_TRUE(store->add(entry("ok")));
    clock.advance(Seconds{10});
    ASSERT_TRUE(store->add(refusal("a")));
    ASSERT_TRUE(store->add(refusal("b")));
    EXPECT_EQ(rows({.only_refused = true, .limit = 9}).size(), 2u);
    EXPECT_EQ(rows({.since = clock.wall(), .limit = 9}).size(), 2u);
    const auto page = rows({.limit = 2});
    ASSERT_EQ(page.size(), 2u);
    EXPECT_EQ(page[0].entry.reason, "b");
    const auto rest = rows({.before_id = page[1].id, .limit = 2});
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].entry.code, "ok");
}

TEST_F(Audit, IsThereAfterARestart) {
    open();
    AuditLoop(*store).record(entry("ok"));
    store.reset();
    open();
    EXPECT_EQ(rows().size(), 1u);
}

TEST(WorkerAudit, HasARowForSessionsAndForWhatIsTakenOver) {
    World world;
    const auto rows_of = [](const Outcome& outcome) {
        std::string text;
        for (const AuditEntry& row : worker_audit(outcome))
            text += format("{}: {} {} {}\n", row.principal, row.method, row.subject, row.code);
        return text;
    };
    EXPECT_EQ(rows_of(world.hello("a", 1)), "a: session begins a ok\n");
    world.wait(Seconds{1});
    EXPECT_EQ(rows_of(world.session_down("a")), "a: session ends a ok\n");
    const State backup = world.state;
    world.restore(backup);
    world.wait(Seconds{1});
    Hello hello = hello_of("a", 1, {status_of({100}, {"abc123"}, {training(0)}, Left::yes)});
    hello.launches = {{.epoch = {100},
                       .job = {"abc123"},
                       .spec = small_spec(),
                       .plan = {.mesh = ring(1)},
                       .ranks = {{0, 0}}}};
    EXPECT_EQ(rows_of(world.apply(NodeHello{hello})),
              "a: session begins a ok\na: adoption abc123 ok\n");
    EXPECT_EQ(rows_of(world.apply(DrainNode{{"a"}, "fan"})), "") << "the call has its own row";
}

}  // namespace
}  // namespace rm::test
