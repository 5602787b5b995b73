#include "cli/show/cluster_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "service/convert/convert.h"

namespace rm {
namespace {

using testing::HasSubstr;

struct PlanToSubmit : testing::Test {
    std::ostringstream out;
    Status printed(const Result<pb::PlanReply>& plan) {
        return print_plan_to_submit({out, true, false, 200}, plan);
    }
};

TEST_F(PlanToSubmit, IsTheOneOfADryRun) {
    pb::PlanReply reply;
    reply.set_kind("L40S");
    reply.mutable_plan()->mutable_mesh()->set_ring(8);
    reply.mutable_plan()->mutable_predicted()->set_step_seconds(2);
    reply.mutable_plan()->mutable_predicted()->set_all_seconds(7200);
    std::ostringstream dry_run;
    print_cluster_plan({dry_run, true, false, 200}, reply);
    EXPECT_TRUE(printed(reply).ok());
    EXPECT_EQ(out.str(), dry_run.str());
    EXPECT_THAT(out.str(), HasSubstr("all steps  2h00m\n"));
}

TEST_F(PlanToSubmit, MayBeMissingForAReasonThatLetsTheJobWait) {
    pb::PlanReply reply;
    reply.add_reasons("needs 4 cpu devices, 2 are known");
    reply.add_reasons("node a is drained");
    EXPECT_TRUE(printed(reply).ok());
    EXPECT_EQ(out.str(), "no plan yet: needs 4 cpu devices, 2 are known; node a is drained\n");
}

TEST_F(PlanToSubmit, IsARefusalWhereSubmitRefuses) {
    pb::PlanReply reply;
    reply.add_reasons("no plan fits; the nearest takes 2 GiB more");
    reply.set_refusal(reply.reasons(0));
    const Status refused = printed(reply);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, reply.reasons(0));
    EXPECT_EQ(exit_code_of(refused.error()), ExitCode::rejected);
    EXPECT_EQ(out.str(), "");
}

TEST_F(PlanToSubmit, TellsAControllerThatCannotPlanFromAJobThatIsWrong) {
    const auto failed = [](ErrorCode code) { return make_error(code, "no time left"); };
    EXPECT_TRUE(printed(failed(ErrorCode::deadline_exceeded)).ok());
    EXPECT_TRUE(printed(failed(ErrorCode::internal)).ok());
    EXPECT_EQ(out.str(), "no plan yet: no time left\nno plan yet: no time left\n");
    EXPECT_TRUE(printed(failed(ErrorCode::unimplemented)).ok());
    EXPECT_THAT(out.str(), HasSubstr("no plan yet: the controller is of an older version"));
    for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::unavailable,
                                 ErrorCode::permission_denied, ErrorCode::unauthenticated}) {
        const Status refused = printed(failed(code));
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, code);
    }
}

pb::RankedMesh* add_mesh(pb::PlanDetailReply& reply, int ring, double seconds) {
    pb::RankedMesh* row = reply.mutable_ranking()->add_meshes();
    *row->mutable_mesh() = to_proto(Mesh::make(1, ring, 1, 1).value());
    row->set_zero(3);
    if (seconds > 0) row->mutable_predicted()->set_step_seconds(seconds);
    return row;
}

TEST(PlanDetailText, HasTheStepAndTheMeshesWithTheChosenOneMarked) {
    pb::PlanDetailReply reply;
    reply.set_attempt(7);
    reply.mutable_predicted()->set_step_seconds(2);
    pb::PlannedStep& step = *reply.mutable_step();
    step.set_timed(true);
    step.set_length(2.5);
    step.set_kind("L40S");
    step.set_held_bytes(1 << 20);
    (*step.mutable_state_bytes())["weights"] = 2 << 20;
    (*step.mutable_state_bytes())["host weights"] = 99 << 20;
    step.add_device_bytes(1 << 20);
    step.add_device_bytes(5 << 20);
    reply.mutable_ranking()->set_basis("by the present devices");
    add_mesh(reply, 8, 2)->set_chosen(true);
    add_mesh(reply, 4, 3);
    add_mesh(reply, 2, 0)->set_passed_over("a step takes 9 s or more");
    std::ostringstream out;
    print_plan_detail({out, true, false, 200}, reply);
    EXPECT_THAT(out.str(),
                HasSubstr("attempt 7, on L40S: a step takes 2.5 s; 8.0 MiB live at most"));
    EXPECT_THAT(out.str(), HasSubstr("meshes by the present devices\n"));
    EXPECT_THAT(out.str(), testing::ContainsRegex("ring 8, ZeRO-3 +chosen"));
    EXPECT_THAT(out.str(), HasSubstr("not among them:\n  ring 2, ZeRO-3: a step takes 9 s"));
}

TEST(PlanDetailText, HasTheShareOfThePeakInFp8OfAJobThatComputesInIt) {
    const auto printed = [](double fp8_mfu) {
        pb::PlanDetailReply reply;
        pb::RankedMesh* row = add_mesh(reply, 8, 2);
        row->set_causal_mfu(0.334);
        row->set_fp8_mfu(fp8_mfu);
        std::ostringstream out;
        print_plan_detail({out, true, false, 200}, reply);
        return out.str();
    };
    EXPECT_THAT(printed(0), testing::Not(HasSubstr("FP8 MFU")));
    EXPECT_THAT(printed(0.165), testing::ContainsRegex("MFU +FP8 MFU"));
    EXPECT_THAT(printed(0.165), testing::ContainsRegex("33\\.4 ?% +16\\.5 ?%"));
}

}  // namespace
}  // namespace rm
