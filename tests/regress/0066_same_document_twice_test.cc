#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/document.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

// `show -o json` had the keys of maps in an order that changed from call to call, states in words
// that no table has, and whole numbers as texts.
namespace rm {
namespace {

pb::StepReport report_of(const std::vector<int>& order) {
    pb::StepReport step;
    for (const int hop : order) {
        (*step.mutable_hops())[hop].set_bytes(hop);
        (*step.mutable_memory_bytes())["kind-" + std::to_string(hop)] = hop;
    }
    return step;
}

TEST(Regress, MapsOfADocumentAreSorted) {
    const std::string once = message_json(report_of({10, 9, 2, 77, 1})).dump();
    EXPECT_EQ(message_json(report_of({1, 2, 77, 9, 10})).dump(), once);
    EXPECT_LT(once.find("\"9\""), once.find("\"10\"")) << "numbers sort as numbers";
    EXPECT_LT(once.find("\"10\""), once.find("\"77\""));
}

TEST(Regress, DocumentsUseTheWordsOfTheTablesAndNumbers) {
    pb::Job job;
    job.set_state(pb::JOB_STATE_RUNNING);
    job.mutable_last_step()->set_step(std::int64_t{1} << 40);
    job.add_attempts()->set_state(pb::ATTEMPT_STATE_LOST);
    *job.mutable_submitted() = to_proto(WallTime{1'767'323'045'000'000});
    const auto json = message_json(job);
    EXPECT_EQ(json["state"], "running");
    EXPECT_EQ(json["attempts"][0]["state"], "lost");
    EXPECT_EQ(json["lastStep"]["step"], std::int64_t{1} << 40);
    EXPECT_EQ(json["submitted"], "2026-01-02T03:04:05Z");
    EXPECT_FALSE(json.contains("ended")) << "absent while it lives";
    EXPECT_EQ(json["numSteps"], 0) << "numbers stand, whatever they are";
    EXPECT_EQ(json.begin().key(), "id") << "in the order of the declaration";
}

}  // namespace
}  // namespace rm
