// After five job files of a mebibyte, `ls -a` and `history` failed for all users from then on:
// pages had no bound in bytes. The API took texts, lists and numbers of any size.
#include <gtest/gtest.h>

#include <limits>

#include "tests/controller/running.h"

namespace rm::test {
namespace {

TEST(Regress0035, ListsEndTheirPagesBeforeAMessageIsTooLarge) {
    Running running;
    for (int i = 0; i < 6; ++i) {
        pb::SubmitRequest request = Running::request(small_spec(), format("large {}", i));
        request.mutable_spec()->set_yaml(std::string(1 << 20, '#'));
        pb::SubmitReply reply;
        const grpc::Status submitted = running.submit(request, reply);
        ASSERT_TRUE(submitted.ok()) << submitted.error_message();
    }
    grpc::ClientContext context;
    pb::ListJobsRequest request;
    request.set_include_ended(true);
    pb::ListJobsReply reply;
    const grpc::Status listed = running.jobs->List(&context, request, &reply);
    ASSERT_TRUE(listed.ok()) << listed.error_message();
    EXPECT_EQ(reply.jobs_size(), 6);
    EXPECT_LT(reply.ByteSizeLong(), 1u << 20);
    EXPECT_EQ(running.job(reply.jobs(0).id()).spec().yaml().size(), 1u << 20) << "Get has it";
}

TEST(Regress0035, PagesOfLargeJobsAreShorterAndLeadToTheNext) {
    Running running;
    JobSpec spec = small_spec();
    const StageSpec stage = spec.stages.at(0);
    spec.stages.assign(2000, stage);
    constexpr int kJobs = 30;
    for (int i = 0; i < kJobs; ++i)
        running.submit(spec, format("staged {}", i));
    pb::HistoryRequest request;
    int seen = 0;
    int pages = 0;
    do {
        grpc::ClientContext context;
        pb::HistoryReply reply;
        const grpc::Status status = running.jobs->History(&context, request, &reply);
        ASSERT_TRUE(status.ok()) << status.error_message();
        EXPECT_LT(reply.ByteSizeLong(), 2u << 20);
        seen += reply.jobs_size();
        ++pages;
        request.set_page_token(reply.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(seen, kJobs);
    EXPECT_GT(pages, 1);
}

std::string refusal(Running& running, const std::function<void(pb::JobSpec&)>& change) {
    pb::SubmitRequest request = Running::request(small_spec());
    change(*request.mutable_spec());
    pb::SubmitReply reply;
    const grpc::Status status = running.submit(request, reply);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    return status.error_message();
}

TEST(Regress0035, WhatNobodyMeansIsRefusedByName) {
    Running running;
    const auto expect = [&](const std::string& words, const auto& change) {
        const std::string error = refusal(running, change);
        EXPECT_NE(error.find(words), std::string::npos) << error;
    };
    expect("path: 1000001 bytes; at most 4096", [](pb::JobSpec& spec) {
        spec.mutable_data()->mutable_sources(0)->set_path("/" + std::string(1'000'000, 'x'));
    });
    expect("name: contains a zero byte",
           [](pb::JobSpec& spec) { spec.set_name(std::string("a\0b", 3)); });
    expect("stages: 10000 entries; at most 4096", [](pb::JobSpec& spec) {
        while (spec.stages_size() < 10'000)
            *spec.add_stages() = spec.stages(0);
    });
    expect("sources: 30000 entries; at most 4096", [](pb::JobSpec& spec) {
        while (spec.data().sources_size() < 30'000)
            *spec.mutable_data()->add_sources() = spec.data().sources(0);
    });
    expect("lost_after_seconds: inf is not a finite number", [](pb::JobSpec& spec) {
        spec.mutable_retry()->set_lost_after_seconds(std::numeric_limits<double>::infinity());
    });
    expect("tokens: 9223372036854775807 is beyond 2^53", [](pb::JobSpec& spec) {
        spec.mutable_stages(0)->set_tokens(std::numeric_limits<std::int64_t>::max());
    });
}

}  // namespace
}  // namespace rm::test
