#include <gtest/gtest.h>

#include "cli/client/calls.h"

namespace rm {
namespace {

pb::Job job(const std::string& id, pb::JobState state) {
    pb::Job job;
    job.set_id(id);
    job.set_state(state);
    return job;
}

TEST(JobNames, MeanTheLiveJobOrElseTheNewest) {
    const pb::Job old = job("old", pb::JOB_STATE_FAILED);
    const pb::Job live = job("live", pb::JOB_STATE_RUNNING);
    const pb::Job newest = job("newest", pb::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(choose_job("demo", {newest, live, old}).value(), "live");
    EXPECT_EQ(choose_job("demo", {newest, old}).value(), "newest");
    EXPECT_EQ(choose_job("a1b", {}).value(), "a1b") << "an id, or a prefix of one";
}

TEST(JobNames, OfSeveralLiveJobsAreRefusedWithTheirIds) {
    const auto chosen =
        choose_job("demo", {job("b2", pb::JOB_STATE_PENDING), job("a1", pb::JOB_STATE_RUNNING)});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().message,
              "2 jobs named 'demo' are live; use an id: b2 (pending), a1 (running)");
}

TEST(NodeNames, MeanTheNodeOrListTheIds) {
    std::vector<pb::Node> nodes(3);
    for (int i = 0; i < 3; ++i) {
        nodes[static_cast<std::size_t>(i)].set_id("id-" + std::to_string(i));
        nodes[static_cast<std::size_t>(i)].mutable_inventory()->set_hostname(i == 0 ? "rack1"
                                                                                    : "vm");
    }
    EXPECT_EQ(choose_node("rack1", nodes).value(), "id-0");
    EXPECT_EQ(choose_node("id-2", nodes).value(), "id-2");
    EXPECT_EQ(choose_node("id", nodes).value(), "id") << "the controller knows prefixes";
    const auto both = choose_node("vm", nodes);
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().message, "2 nodes are named 'vm'; use an id: id-1, id-2");
    EXPECT_EQ(pick_nodes({"rack1", "id-1"}, nodes).value().size(), 2u);
    EXPECT_EQ(pick_nodes({"nowhere"}, nodes).error().message, "there is no node 'nowhere'");
}

}  // namespace
}  // namespace rm
