#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/roots/job_files.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

// For a job whose files are below no root of a node, the first advice was to add a device, although
// there were enough.
namespace rm::test {
namespace {

struct Regress0083 : World, testing::Test {
    void join(const std::string& node) {
        Hello hello = hello_of(node, 1);
        hello.roots = {{.name = "data", .path = "/data", .mount = "1:2", .writable = true}};
        apply(NodeHello{hello});
    }
    // The node's answer about the job's text.
    void say(const std::string& node, const JobId& id, const std::string& index) {
        const CheckFiles check = files_needed(state, job(id)).check;
        FilesChecked checked{.key = check.key};
        for (const FileWanted& wanted : check.files) {
            FileFacts& file = checked.files.emplace_back();
            file = {.use = wanted.use, .path = wanted.path, .root = "data", .free = {1LL << 40}};
            if (!is_written(wanted.use)) file.index = index;
            if (index.empty()) file.problem = "lies below no root of this node (data=/data)";
        }
        apply(NodeFilesChecked{{node}, checked});
    }
    std::vector<std::string> reasons() const {
        const auto decision = plan_jobs(planning_snapshot(state, now)).at(0).decision;
        return texts_of(decision);
    }
};

TEST_F(Regress0083, FilesOutsideTheRootsAreNoLackOfDevices) {
    join("a");
    const JobId id = submit(small_spec(ring(1)));
    say("a", id, "");
    ASSERT_EQ(reasons().size(), 2u);
    EXPECT_EQ(reasons()[0],
              "needs 1 cpu device, 0 are free of 1 (1 on nodes without its files); put its files "
              "right on nodes with 1 cpu device");
    EXPECT_EQ(
        reasons()[1],
        "node a: data.path /data/text: lies below no root of this node (data=/data); fix that "
        "there, or name another path");
}

TEST_F(Regress0083, NorAreFilesThatDiffer) {
    join("a");
    join("b");
    const JobId id = submit(small_spec(ring(2)));
    say("a", id, "1111111111");
    say("b", id, "2222222222");
    EXPECT_EQ(reasons().at(0), "needs 2 cpu devices, 1 is free of 1; ask for at most 1");
    EXPECT_NE(reasons().at(1).find("data.path /data/text differs between"), std::string::npos);
}

TEST_F(Regress0083, WhereBothAreMissingDevicesAreAskedFor) {
    join("a");
    const JobId id = submit(small_spec(ring(2)));
    say("a", id, "");
    EXPECT_EQ(reasons().at(0),
              "needs 2 cpu devices, 0 are free of 1 (1 on nodes without its files); add 2 cpu "
              "devices");
}

}  // namespace
}  // namespace rm::test
