#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

// Workers on several machines announced 127.0.0.1, their jobs were placed across them, every
// attempt died of "connection refused", and nothing said why. And a job without checkpoint.dir
// wrote its shards into a directory of the same name on each machine's own disk.
namespace rm::test {
namespace {

struct Regress0070 : World, testing::Test {
    void join(const std::string& node, const std::string& address, const std::string& machine) {
        Hello hello = hello_of(node, 1);
        hello.inventory.data_address = address;
        hello.machine = machine;
        hello.network = machine + "/net";
        apply(NodeHello{hello});
    }
    // For a job over two nodes.
    PlanDecision decide(const std::string& checkpoints) {
        state.checkpoint_root = "/srv/c/checkpoints";
        JobSpec spec = small_spec(ring(2));
        spec.checkpoint.dir = checkpoints;
        submit(spec);
        return plan_jobs(planning_snapshot(state, now)).at(0);
    }
    std::string reasons(const std::string& checkpoints) {
        const PlanDecision decision = decide(checkpoints);
        std::string all;
        if (std::holds_alternative<Plan>(decision.decision)) return all;
        for (const std::string& reason : texts_of(decision.decision))
            all += reason + '\n';
        return all;
    }
};

constexpr const char* kShared = "/shared/ckpt";

TEST_F(Regress0070, ALoopbackAddressIsNotMetFromAnotherMachineAndTheReasonSaysSo) {
    join("a", "127.0.0.1", "m1");
    join("b", "10.0.0.2", "m2");
    const std::string text = reasons(kShared);
    EXPECT_NE(text.find("node a announces 127.0.0.1, which ranks on other machines cannot reach; "
                        "start its worker with --data-address"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("node b announces"), std::string::npos) << text;
}

TEST_F(Regress0070, TheValidatorRefusesWhatThePlannerWould) {
    join("a", "127.0.0.1", "m1");
    join("b", "127.0.0.1", "m2");
    JobSpec spec = small_spec(ring(2));
    spec.checkpoint.dir = kShared;
    const JobId id = submit(spec);
    plan(id, {"a", "b"});
    EXPECT_EQ(job(id).state, JobState::pending);
}

TEST_F(Regress0070, WorkersOfOneMachineMeetOnItsLoopback) {
    join("a", "127.0.0.1", "m1");
    join("b", "127.0.0.1", "m1");
    join("c", "10.0.0.3", "m3");
    EXPECT_EQ(reasons(kShared), "");
}

TEST_F(Regress0070, TheDefaultCheckpointDirectoryIsOneOnEachMachine) {
    join("a", "10.0.0.1", "m1");
    join("b", "10.0.0.2", "m2");
    const std::string text = reasons("");
    EXPECT_NE(text.find("the job names no checkpoint.dir, and the default, /srv/c/checkpoints, is "
                        "another directory on each of node a and node b"),
              std::string::npos)
        << text;
}

TEST_F(Regress0070, ADirectoryThatTheJobNamesIsTrusted) {
    join("a", "10.0.0.1", "m1");
    join("b", "10.0.0.2", "m2");
    EXPECT_EQ(reasons(kShared), "");
}

TEST_F(Regress0070, WorkersOfOneMachineShareTheDefaultDirectory) {
    join("a", "10.0.0.1", "m1");
    join("b", "10.0.0.1", "m1");
    join("c", "10.0.0.3", "m3");
    EXPECT_EQ(reasons(""), "");
}

}  // namespace
}  // namespace rm::test
