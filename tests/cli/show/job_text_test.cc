#include "cli/show/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/document.h"
#include "cli/screen/console.h"
#include "cli/up/cluster.h"
#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

TEST(JobText, NamesStatesInTheVocabularyOfTheProject) {
    EXPECT_EQ(state_name(pb::JOB_STATE_SUCCEEDED), "succeeded");
    EXPECT_EQ(attempt_state_name(pb::ATTEMPT_STATE_LOST), "lost");
    EXPECT_EQ(*parse_job_state("failed"), pb::JOB_STATE_FAILED);
}

TEST(JobText, ListsTheStatesWhenOneIsUnknown) {
    EXPECT_EQ(parse_job_state("done").error().message,
              "'done' is not the state of a job; one of pending, starting, running, stopping, "
              "succeeded, failed, cancelled");
}

TEST(JobText, EstimatesTheTimeLeftFromTokensNotFromSteps) {
    // 3 of 4 steps of 8K done at 4096 tok/s: 8K + 4 x 16K = 73,728 tokens are left.
    EXPECT_DOUBLE_EQ(time_left(running_job(3))->value, 18);
    EXPECT_FALSE(time_left(pending_job()));
    EXPECT_FALSE(time_left(ended_job(pb::JOB_STATE_SUCCEEDED)));
}

TEST(JobText, KnowsTheStageAJobIsIn) {
    EXPECT_EQ(current_stage(pending_job())->context(), 8192);
    const pb::Job early = running_job(3);
    EXPECT_EQ(current_stage(early)->context(), 8192);
    const pb::Job late = running_job(6);
    EXPECT_EQ(current_stage(late)->context(), 16384);
    pb::Job between = running_job(4);
    between.mutable_attempts(0)->set_stages_done(1);
    EXPECT_EQ(current_stage(between)->context(), 16384);
}

TEST(JobText, SaysInOneLineWhereAJobStands) {
    EXPECT_EQ(state_line(pending_job()),
              "job a1b2c3 (demo) is pending\n  pending: 4 devices are wanted, 2 are free");
    EXPECT_EQ(state_line(running_job(1)),
              "job a1b2c3 (demo) is running: attempt 3 on 2 devices (ring 2)");
    EXPECT_EQ(state_line(ended_job(pb::JOB_STATE_FAILED, "rank 1: no data")),
              "job a1b2c3 (demo) failed: rank 1: no data");
}

TEST(JobText, SumsUpAJobWithTheTextsOwnEntropies) {
    EXPECT_EQ(
        job_summary(ended_job(pb::JOB_STATE_SUCCEEDED)),
        "job a1b2c3 (demo) succeeded: 8 steps, 98,304 tokens in 1m00s\n"
        "last training loss 2.8113\n"
        "validation at step 8: 2.7100 nats/byte on 65536 held-out bytes (baselines: unigram 3.410, "
        "bigram 2.610)\n"
        "checkpoint /ckpt/a1b2c3/e3-s2\n");
}

TEST(JobText, SaysThatARunHasDiverged) {
    pb::Job job = ended_job(pb::JOB_STATE_SUCCEEDED);
    job.mutable_last_step()->set_loss(345.2);
    job.mutable_last_step()->set_diverged_above(6.66);
    EXPECT_THAT(job_summary(job), testing::HasSubstr("the run has diverged: the loss of step 8 is "
                                                     "345.2000"));
}

TEST(DescribeJob, ShowsHowTheHeldOutLossFallsWithTheContext) {
    pb::Job job = ended_job(pb::JOB_STATE_SUCCEEDED);
    for (const auto& [from, loss] : {std::pair{1, 3.0}, {16, 2.5}}) {
        pb::PositionLoss& position = *job.mutable_last_evaluation()->add_by_position();
        position.set_from_tokens(from);
        position.set_targets(from * 1000);
        position.set_loss(loss);
    }
    std::ostringstream text;
    describe_job({.stream = text}, job, after_submission(70));
    EXPECT_THAT(text.str(), testing::HasSubstr("\nheld-out loss by the tokens before the target\n"
                                               "  FROM  TARGETS    NATS  PERPLEXITY\n"
                                               "     1    1,000  3.0000       20.09\n"
                                               "    16   16,000  2.5000       12.18\n"));
}

TEST(Document, PrintsAListOfMessagesAsJsonAndYaml) {
    std::vector<pb::EvaluationReport> list = {sample_evaluation(8)};
    std::ostringstream json;
    print_documents(json, list, OutputFormat::json);
    EXPECT_EQ(json.str(),
              "[\n  {\n    \"step\": 8,\n    \"targets\": 65536,\n    \"loss\": 2.71,\n"
              "    \"unigramEntropy\": 3.41,\n    \"bigramEntropy\": 2.61,\n    \"byPosition\": "
              "[]\n  }\n]\n");
    std::ostringstream yaml;
    print_documents(yaml, list, OutputFormat::yaml);
    EXPECT_EQ(yaml.str(),
              "- step: 8\n  targets: 65536\n  loss: 2.71\n  unigramEntropy: 3.41\n"
              "  bigramEntropy: 2.61\n  byPosition: []\n");
    std::ostringstream none;
    print_documents(none, std::vector<pb::Job>(), OutputFormat::json);
    EXPECT_EQ(none.str(), "[]\n");
}

TEST(ExitCode, FollowsTheTable) {
    const auto of = [](ErrorCode code) { return exit_code_of(Error{code, ""}); };
    EXPECT_EQ(of(ErrorCode::not_found), ExitCode::not_found);
    EXPECT_EQ(of(ErrorCode::failed_precondition), ExitCode::rejected);
    EXPECT_EQ(of(ErrorCode::deadline_exceeded), ExitCode::timed_out);
    EXPECT_EQ(of(ErrorCode::unauthenticated), ExitCode::denied);
    EXPECT_EQ(of(ErrorCode::unavailable), ExitCode::error);
    EXPECT_EQ(of(ErrorCode::cancelled), ExitCode::interrupted);
}

}  // namespace
}  // namespace rm
