#include "tests/controller/world.h"

// Survey findings about links, as the core receives them.
namespace rm::test {
namespace {

LinkDrifted fallen(const std::string& from, const std::string& to) {
    return {{from}, {to}, {9.4}, {3.1}, true};
}
LinkDrifted back(const std::string& from, const std::string& to) {
    return {{from}, {to}, {9.4}, {9.2}, false};
}

struct Three : World {
    JobId id;
    Three() {
        for (const char* name : {"a", "b", "c"})
            hello(name, 1);
        id = submit(small_spec());
        plan(id, {"a", "b"});
    }
};

TEST(LinkDrifts, AreNotesInTheJournalOfTheAttemptsThatHaveBothEnds) {
    Three world;
    const Tables before = flatten_tables(world.state);
    const Outcome outcome = world.apply(fallen("a", "b"));
    ASSERT_EQ(outcome.events.size(), 1u);
    const AuditEvent& event = outcome.events[0];
    EXPECT_EQ(event.kind, "attempt.link_degraded");
    EXPECT_EQ(event.subject, "attempt/1");
    EXPECT_EQ(to_json(event.fields),
              R"({"from":"a","to":"b","baseline_gbit_per_s":"9.400","gbit_per_s":"3.100"})");
    EXPECT_TRUE(outcome.changes.empty()) << "no row is another";
    EXPECT_EQ(flatten_tables(world.state), before);
    EXPECT_EQ(world.folded, before) << "folding passes notes by";
    EXPECT_EQ(degraded_links_of(world.state, world.attempt(world.id)).size(), 1u);
    EXPECT_EQ(world.apply(back("a", "b")).events.at(0).kind, "attempt.link_restored");
    EXPECT_TRUE(world.state.degraded_links.empty());
}

TEST(LinkDrifts, OfNobodysLinkAreOfTheSendingNode) {
    Three world;
    const Outcome outcome = world.apply(fallen("c", "a"));
    ASSERT_EQ(outcome.events.size(), 1u);
    EXPECT_EQ(outcome.events[0].kind, "node.link_degraded");
    EXPECT_EQ(outcome.events[0].subject, "node/c");
    EXPECT_EQ(world.apply(back("c", "a")).events.at(0).kind, "node.link_restored");
    EXPECT_EQ(world.folded, flatten_tables(world.state));
}

TEST(LinkDrifts, AreSaidOnceAndOfKnownNodesOnly) {
    Three world;
    EXPECT_TRUE(world.apply(back("a", "b")).events.empty()) << "it was not degraded";
    const WallTime since = world.now;
    world.apply(fallen("a", "b"));
    EXPECT_TRUE(world.apply(fallen("a", "b")).events.empty());
    EXPECT_GT(world.state.degraded_links.at({{"a"}, {"b"}}).since, since);
    EXPECT_TRUE(world.apply(fallen("a", "x")).events.empty());
    EXPECT_TRUE(world.apply(fallen("x", "a")).events.empty());
    EXPECT_EQ(world.state.degraded_links.size(), 1u);
}

TEST(LinkDrifts, LetPendingJobsBePlannedAnew) {
    Three world;
    EXPECT_FALSE(asks_for_plan(world.apply(fallen("a", "b")))) << "nothing is pending";
    const JobId waits = world.submit(small_spec());
    world.apply(
        PlanReady{waits, world.state.planning_version, Reasons{{"needs 4, 1 is free", "add 3"}}});
    ASSERT_FALSE(asks_for_plan(world.apply(CommandsDue{})));
    EXPECT_TRUE(asks_for_plan(world.apply(back("a", "b"))));
    EXPECT_FALSE(asks_for_plan(world.apply(back("a", "b")))) << "no news";
}

}  // namespace
}  // namespace rm::test
