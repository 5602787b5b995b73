#include <fstream>
#include <sstream>

#include "controller/core/apply.h"
#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

// Databases that older versions left (tests/golden/control_db) keep their meaning.
namespace rm::test {
namespace {

class StoredDatabase : public ::testing::TestWithParam<int> {
protected:
    State load() {
        std::ostringstream sql;
        sql << std::ifstream(format("{}/v{}.sql", RM_CONTROL_DBS, GetParam())).rdbuf();
        const Status made = Database::open(path_, Access::write).value().execute(sql.str());
        RM_CHECK(made.ok(), "{}", made.error().message);
        State state = open_control_store(path_).value()->load().value();
        rebuild_indexes(state, {1});
        return state;
    }
    TempDir directory_;
    const std::string path_ = directory_.file("control.db");
};

TEST_P(StoredDatabase, KeepsItsJobItsAttemptAndItsNode) {
    const State state = load();
    check_invariants(state);
    EXPECT_EQ(state.cluster, ClusterId{"c0ffee"});
    EXPECT_EQ(state.next_epoch, Epoch{8});
    const Job& job = state.jobs.at({"abc123"});
    EXPECT_EQ(job.state, JobState::failed);
    EXPECT_EQ(job.failure, "rank 1: out of cheese");
    EXPECT_EQ(job.owner, "ada");
    EXPECT_EQ(job.yaml, "name: old\n");
    EXPECT_EQ(job.spec.data.sources.size(), GetParam() == 1 ? 1u : 2u);
    EXPECT_EQ(job.spec.data.sources[0].path, "/data/a");
    EXPECT_EQ(job.spec.memory.chunk, 128);
    EXPECT_EQ(job.spec.stages[0].schedule, Schedule::cosine);
    const Attempt& attempt = state.attempts.at({7});
    EXPECT_EQ(attempt.mesh, ring(2));
    EXPECT_EQ(attempt.cause_rank, 1);
    EXPECT_EQ(attempt.ranks[1].error, "out of cheese");
    const Node& node = state.nodes.at({"n1"});
    EXPECT_EQ(node.inventory.devices[1].fp32.flops, 1e12);
    EXPECT_EQ(node.inventory.devices[1].num_threads, 4);
}

TEST_P(StoredDatabase, HasDefaultsForWhatItDidNotKnow) {
    const State state = load();
    const Job& job = state.jobs.at({"abc123"});
    EXPECT_EQ(job.spec.zero, GetParam() < 3 ? 0 : 2);
    EXPECT_EQ(job.spec.data.documents, GetParam() < 3 ? Documents::joined : Documents::separate);
    EXPECT_EQ(job.spec.memory.keep.has_value(), GetParam() >= 4);
    EXPECT_EQ(job.spec.retry.max, GetParam() < 5 ? 3 : 5);
    EXPECT_EQ(job.spec.priority, GetParam() < 5 ? 0 : 4);
    EXPECT_EQ(job.spec.checkpoint.every, Seconds{GetParam() < 7 ? 600.0 : 90.0});
    EXPECT_EQ(job.spec.resources.placement.size(), GetParam() < 6 ? 0u : 2u);
    EXPECT_EQ(job.spec.optimizer.max_skipped, GetParam() < 8 ? 10 : 4);
    const std::vector<SuiteSpec> suites = {{.suite = SuiteKind::ruler,
                                            .name = "tasks",
                                            .every_steps = 10,
                                            .lengths = {4096, 8192},
                                            .samples = 3,
                                            .tasks = {"vt", "cwe"},
                                            .seed = 7}};
    const std::vector<PromptSpec> prompts = {{"Once", 9, 0.5, 0.9, 7}};
    const bool examines = GetParam() >= 11;
    EXPECT_EQ(job.spec.evaluation.suites, examines ? suites : std::vector<SuiteSpec>());
    EXPECT_EQ(job.spec.evaluation.prompts, examines ? prompts : std::vector<PromptSpec>());
    EXPECT_EQ(state.nodes.at({"n1"}).drained, GetParam() < 5 ? "" : "for repair");
    EXPECT_EQ(state.profiles.count({"L40S", "570.86.10"}), GetParam() < 10 ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, StoredDatabase,
                         ::testing::Range(1, static_cast<int>(control_migrations().size()) + 1));

}  // namespace
}  // namespace rm::test
