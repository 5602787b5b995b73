#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/roots/job_files.h"
#include "planner/plan_jobs.h"
#include "spec/model_preset.h"
#include "tests/controller/world.h"

// Nodes that declare roots are asked about a job's files and compared before anything starts.
namespace rm::test {
namespace {

constexpr Bytes kMuch{1LL << 40};

RootInfo root_named(const std::string& name) {
    return {.name = name, .path = "/mnt/" + name, .mount = "1:2", .writable = true, .free = kMuch};
}

JobSpec rooted_spec(int ranks) {
    JobSpec spec = small_spec(ring(ranks));
    spec.checkpoint.dir = "ckpt:runs";
    return spec;
}

struct Rooted : World {
    Outcome hello_with_roots(const std::string& node, int num_devices = 1) {
        Hello hello = hello_of(node, num_devices);
        hello.roots = {root_named("ckpt")};
        return apply(NodeHello{hello});
    }
    Outcome answer(const std::string& node, const ProbeRoot& probe, bool found = false) {
        return apply(
            NodeRootProbed{{node}, {probe.root, probe.nonce, probe.step, found, std::string()}});
    }
    // Ends the running probe as if the nodes in `sharing` shared the root.
    void measure(const std::set<std::string>& sharing) {
        while (!state.probes.empty()) {
            const RootProbe probe = state.probes.begin()->second;
            const std::string& root = state.probes.begin()->first;
            const NodeId node = *probe.waiting.begin();
            const bool found = sharing.contains(node.value) && sharing.contains(probe.writer.value);
            answer(node.value, {root, probe.nonce, probe.step}, found);
        }
    }
    static FilesChecked facts(const CheckFiles& check, const std::string& index = "1234567890") {
        FilesChecked checked{.key = check.key};
        for (const FileWanted& wanted : check.files) {
            FileFacts file{.use = wanted.use, .path = wanted.path, .root = "ckpt", .free = kMuch};
            if (!is_written(wanted.use)) file.index = index;
            checked.files.push_back(file);
        }
        return checked;
    }
    CheckFiles check_of(const JobId& id) const { return files_needed(state, job(id)).check; }
    void say(const std::string& node, const FilesChecked& checked) {
        apply(NodeFilesChecked{{node}, checked});
    }
    PlanDecision decide() const { return plan_jobs(planning_snapshot(state, now)).at(0); }
    std::vector<std::string> reasons() const { return texts_of(decide().decision); }
    bool fits() const { return std::holds_alternative<Plan>(decide().decision); }
};

struct TwoRooted : Rooted {
    TwoRooted() {
        hello_with_roots("a");
        hello_with_roots("b");
    }
    // A job over both nodes, after both have answered about its files.
    JobId two_ranks(const std::string& index_of_b = "1234567890") {
        const JobId id = submit(rooted_spec(2));
        say("a", facts(check_of(id)));
        say("b", facts(check_of(id), index_of_b));
        return id;
    }
};

TEST(Roots, AreMeasuredWhenANodeSaysHelloByOneThatWritesAndOthersThatLook) {
    Rooted world;
    const auto alone = commands<ProbeRoot>(world.hello_with_roots("a"));
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone[0].step, ProbeStep::write);
    const auto removed = commands<ProbeRoot>(world.answer("a", alone[0]));
    ASSERT_EQ(removed.size(), 1u) << "nobody is there to look";
    EXPECT_EQ(removed[0], (ProbeRoot{"ckpt", alone[0].nonce, ProbeStep::remove}));

    const auto write = commands<ProbeRoot>(world.hello_with_roots("b")).at(0);
    EXPECT_NE(write.nonce, alone[0].nonce);
    const auto look = commands<ProbeRoot>(world.answer("b", write)).at(0);
    EXPECT_EQ(look, (ProbeRoot{"ckpt", write.nonce, ProbeStep::look}));
    world.answer("a", look, true);
    EXPECT_EQ(world.state.nodes.at({"a"}).session.places,
              world.state.nodes.at({"b"}).session.places);
    EXPECT_TRUE(world.state.probes.empty());
}

TEST(Roots, OfOneDirectoryHoldAJobOverBothNodes) {
    TwoRooted world;
    world.measure({"a", "b"});
    world.two_ranks();
    EXPECT_TRUE(world.fits());
}

TEST(Roots, OfTwoDirectoriesDoNotAndTheReasonNamesBothNodes) {
    TwoRooted world;
    world.measure({});
    const JobId id = world.two_ranks();
    const auto reasons = world.reasons();
    ASSERT_EQ(reasons.size(), 2u);
    EXPECT_EQ(reasons[1],
              "checkpoint.dir ckpt:runs is not one directory on node a and node b, as was "
              "measured; mount one file system there, or ask for no more devices than one node "
              "has");
    const Plan plan{.mesh = ring(2), .placement = {{{"a"}, 0}, {{"b"}, 0}}};
    const Status valid = validate_plan(world.state, world.job(id), plan, world.now);
    ASSERT_FALSE(valid) << "whatever a planner thinks";
    EXPECT_NE(valid.error().message.find("same files"), std::string::npos);
}

TEST(Roots, OfTwoDirectoriesHoldAJobOnOneNode) {
    Rooted world;
    world.hello_with_roots("a");
    world.hello_with_roots("b", 2);
    world.measure({});
    const JobId id = world.submit(rooted_spec(2));
    world.say("a", Rooted::facts(world.check_of(id)));
    world.say("b", Rooted::facts(world.check_of(id)));
    ASSERT_TRUE(world.fits());
    EXPECT_EQ(std::get<Plan>(world.decide().decision).placement,
              (std::vector<DeviceId>{{{"b"}, 0}, {{"b"}, 1}}));
}

TEST(Roots, ThatDifferInAFileAreNamedWithTheirNodes) {
    TwoRooted world;
    world.measure({"a", "b"});
    world.two_ranks("fedcba0987");
    EXPECT_EQ(world.reasons().at(1),
              "data.path /data/text differs between node a (index 12345678) and node b (index "
              "fedcba09); copy it from one to the other");
}

TEST(Roots, WithoutAFileBlockTheirNodeAndSayWhich) {
    TwoRooted world;
    world.measure({"a", "b"});
    const JobId id = world.submit(rooted_spec(2));
    world.say("a", Rooted::facts(world.check_of(id)));
    FilesChecked missing = Rooted::facts(world.check_of(id));
    missing.files[0].problem = "No such file or directory";
    world.say("b", missing);
    EXPECT_EQ(world.reasons().at(0),
              "needs 2 cpu devices, 1 is free of 2 (1 on nodes without its files); put its files "
              "right on nodes with 1 cpu device or ask for at most 1");
    EXPECT_EQ(world.reasons().at(1),
              "node b: data.path /data/text: No such file or directory; fix that there, or name "
              "another path");
}

TEST(Roots, WithTooLittleSpaceForTheCheckpointsSayHowMuchIsNeeded) {
    TwoRooted world;
    world.measure({"a", "b"});
    JobSpec spec = rooted_spec(1);
    spec.checkpoint.keep = 3;
    const JobId id = world.submit(spec);
    FilesChecked full = Rooted::facts(world.check_of(id));
    full.files.back().free = {1 << 20};
    world.say("a", full);
    world.say("b", full);
    const std::int64_t one = find_preset("tiny").value().num_parameters() * 12;
    const std::string reason = world.reasons().at(1);
    EXPECT_EQ(reason,
              format("nodes a, b: checkpoint.dir ckpt:runs has 1.0 MiB free, and 4 checkpoints of "
                     "{} need {}; make room, or keep fewer (checkpoint.keep)",
                     Bytes{one}, Bytes{4 * one}));
}

TEST(Roots, AJobWaitsForAnswersAndNotForeverForOne) {
    TwoRooted world;
    world.measure({"a", "b"});
    const JobId id = world.submit(rooted_spec(1));
    world.say("a", Rooted::facts(world.check_of(id)));
    EXPECT_EQ(world.reasons().at(0),
              "waiting for node b to report on its files; fits when they are there and the same");
    const Outcome late = world.wait(Seconds{11});
    EXPECT_EQ(commands<CheckFiles>(late).size(), 2u) << "it is asked again, as is what is old";
    EXPECT_TRUE(asks_for_plan(late));
    EXPECT_TRUE(world.fits()) << "on the other node";
}

TEST(Roots, AnAnswerIsAskedForAgainWhileTheJobWaits) {
    TwoRooted world;
    world.measure({"a", "b"});
    const JobId id = world.submit(rooted_spec(3));
    world.say("a", Rooted::facts(world.check_of(id)));
    world.say("b", Rooted::facts(world.check_of(id)));
    EXPECT_EQ(commands<CheckFiles>(world.wait(Seconds{5})).size(), 0u);
    EXPECT_EQ(commands<CheckFiles>(world.wait(Seconds{31})).size(), 2u);
}

TEST(Roots, ALostAnswerOfAProbeIsAskedForAgainAndThenGivenUp) {
    TwoRooted world;
    ASSERT_FALSE(world.state.probes.empty());
    const NodeId writer = world.state.probes.at("ckpt").writer;
    EXPECT_EQ(commands<ProbeRoot>(world.wait(Seconds{11})).size(), 1u);
    const auto next = commands<ProbeRoot>(world.wait(Seconds{25}));
    ASSERT_EQ(next.size(), 1u) << "the other node's turn";
    EXPECT_NE(world.state.probes.at("ckpt").writer, writer);
}

TEST(Roots, ANodeThatWasSilentIsComparedAgain) {
    TwoRooted world;
    const auto step = [&](const std::string& node, bool found) {
        const RootProbe probe = world.state.probes.at("ckpt");
        world.answer(node, {"ckpt", probe.nonce, probe.step}, found);
    };
    ASSERT_EQ(world.state.probes.at("ckpt").writer, NodeId{"a"});
    step("a", false);
    world.wait(Seconds{31});  // b has not looked
    ASSERT_EQ(world.state.probes.at("ckpt").writer, NodeId{"b"});
    step("b", false);
    world.wait(Seconds{31});  // a has not looked
    ASSERT_EQ(world.state.probes.at("ckpt").writer, NodeId{"a"});
    step("a", false);
    step("b", true);
    EXPECT_EQ(world.state.nodes.at({"a"}).session.places,
              world.state.nodes.at({"b"}).session.places);
}

TEST(Roots, AnAnswerToAnEarlierProbeChangesNothing) {
    TwoRooted world;
    const RootProbe before = world.state.probes.at("ckpt");
    world.answer("a", {"ckpt", "of-yesterday", ProbeStep::write});
    world.answer("b", {"ckpt", before.nonce, ProbeStep::look}, true);
    EXPECT_EQ(world.state.probes.at("ckpt").step, ProbeStep::write);
    EXPECT_TRUE(world.state.nodes.at({"b"}).session.places.empty());
}

TEST(Roots, AreMeasuredAnewWhenSomethingElseIsMounted) {
    TwoRooted world;
    world.measure({"a", "b"});
    RootsReport report{{root_named("ckpt")}};
    report.roots[0].free = {1};
    EXPECT_TRUE(commands<ProbeRoot>(world.apply(NodeRoots{{"a"}, report})).empty()) << "less space";
    report.roots[0].mount = "9:9";
    EXPECT_EQ(commands<ProbeRoot>(world.apply(NodeRoots{{"a"}, report})).size(), 1u);
}

TEST(Roots, ThatNobodyDeclaresAskNothing) {
    World world;
    EXPECT_TRUE(commands<ProbeRoot>(world.hello("a", 1)).empty());
    world.submit(small_spec(ring(1)));
    EXPECT_TRUE(commands<CheckFiles>(world.wait(Seconds{60})).empty());
    EXPECT_TRUE(std::holds_alternative<Plan>(
        plan_jobs(planning_snapshot(world.state, world.now)).at(0).decision));
}

TEST(Roots, ThatOneNodeDoesNotDeclareKeepItApart) {
    Rooted world;
    world.hello_with_roots("a");
    world.hello("b", 1);
    world.measure({});
    const JobId id = world.submit(rooted_spec(2));
    world.say("a", Rooted::facts(world.check_of(id)));
    EXPECT_EQ(world.reasons().at(1),
              "node b declares no roots and others do; start the worker with --root as theirs");
}

}  // namespace
}  // namespace rm::test
