#include <gmock/gmock.h>

#include "controller/core/roots/job_files.h"
#include "tests/controller/running.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

// One job of one rank on node a, which trains.
struct OneRank : Running {
    JoinedWorker a{address, hello_of("a", 1)};
    std::string id = submit(small_spec(ring(1)));
    Epoch epoch = a.take<LaunchAttempt>().epoch;

    OneRank() {
        a.say(status_of(epoch, {id}, {training(0)}, Left::yes));
        wait_for(id, pb::JOB_STATE_RUNNING);
    }
    pb::Job end(int code, const std::string& checkpoint, pb::JobState state) {
        AttemptStatus status = status_of(epoch, {id}, {ended(0, code)}, Left::no);
        status.checkpoint_path = checkpoint;
        status.checkpoint_step = checkpoint.empty() ? 0 : 5;
        a.say(status);
        return wait_for(id, state);
    }
    grpc::Status go_on(std::string& next, const std::string& request_id = "again") {
        grpc::ClientContext context;
        pb::ContinueJobRequest request;
        request.set_job_id(id);
        request.set_request_id(request_id);
        pb::SubmitReply reply;
        const grpc::Status status = jobs->Continue(&context, request, &reply);
        next = reply.job_id();
        return status;
    }
};

TEST(ContinueJob, GoesOnFromItsCheckpoints) {
    OneRank running;
    running.cancel(running.id);
    running.end(kRankStopped, "/ckpt/e1-s5", pb::JOB_STATE_CANCELLED);
    std::string next;
    const grpc::Status status = running.go_on(next);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const pb::Job job = running.job(next);
    EXPECT_NE(job.id(), running.id);
    EXPECT_EQ(job.continues(), running.id);
    EXPECT_EQ(job.spec().checkpoint().from(), "/ckpt")
        << "which of them is the newest whole one its ranks know";
    EXPECT_EQ(job.spec().name(), "small");
    EXPECT_EQ(job.spec().yaml(), "name: small\n");
    std::string same;
    EXPECT_TRUE(running.go_on(same).ok());
    EXPECT_EQ(same, next) << "the same request is the same job";
}

TEST(SubmitJob, WarnsOfAKindThatNoNodeHasEverOffered) {
    Running running;
    JobSpec spec = small_spec(ring(1));
    spec.precision = "bf16";
    spec.resources.kind = "L40S";
    const auto warnings = [&](const std::string& request_id) {
        pb::SubmitReply reply;
        const grpc::Status status = running.submit(Running::request(spec, request_id), reply);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return std::vector<std::string>(reply.warnings().begin(), reply.warnings().end());
    };
    EXPECT_THAT(warnings("without nodes"), testing::IsEmpty());
    {
        Hello gpu = hello_of("g", 1);
        gpu.inventory.devices[0].kind = "H100";
        JoinedWorker was_here(running.address, gpu);
    }
    JoinedWorker a(running.address, hello_of("a", 1));
    EXPECT_THAT(warnings("unknown"),
                testing::ElementsAre("resources.kind: no node has ever offered 'L40S', and the job "
                                     "waits until one does; the kinds of this cluster: H100, cpu"));
    spec.resources.kind = "H100";
    EXPECT_THAT(warnings("away"), testing::IsEmpty());
    spec.resources.kind.clear();
    EXPECT_THAT(warnings("any"), testing::IsEmpty());
}

TEST(ContinueJob, OfAJobThatRunsIsRefused) {
    OneRank running;
    std::string next;
    const grpc::Status status = running.go_on(next);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("job " + running.id + " is running"));
    EXPECT_THAT(status.error_message(), HasSubstr("`ringmaster cancel " + running.id + "`"));
}

TEST(ContinueJob, OfAJobThatIsStoppingAdvisesToWait) {
    OneRank running;
    ASSERT_TRUE(running.cancel(running.id).ok());
    std::string next;
    const grpc::Status status = running.go_on(next);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(status.error_message(),
              format("job {} is stopping; continue it when it has ended: `ringmaster wait {}`",
                     running.id, running.id));
}

TEST(ContinueJob, WithoutACheckpointOrAStepLeftIsRefused) {
    OneRank running;
    running.cancel(running.id);
    running.end(kRankStopped, "", pb::JOB_STATE_CANCELLED);
    std::string next;
    grpc::Status status = running.go_on(next);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("has written no checkpoint"));

    OneRank finished;
    finished.end(kRankFinished, "/ckpt/e1-s10", pb::JOB_STATE_SUCCEEDED);
    status = finished.go_on(next);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("--from /ckpt"));
}

TEST(ContinueJob, NamesADirectoryBelowARootAsTheJobDoes) {
    JobSpec spec = small_spec(ring(1));
    spec.checkpoint.dir = "shared:runs";
    Job job{.id = {"abc123"}, .spec = spec};
    State state;
    EXPECT_EQ(checkpoints_of(state, job), "") << "none was heard of";
    state.attempts_of[job.id] = {{7}};
    state.attempts[{7}].checkpoint_path = "/mnt/of-one-node/runs/abc123/e7-s5";
    EXPECT_EQ(checkpoints_of(state, job), "shared:runs/abc123");
}

TEST(ContinueJob, OfAFinishedOneNeverBeginsItAnew) {
    for (const char* checkpoint : {"/ckpt/e1-s10", ""}) {
        OneRank finished;
        finished.end(kRankFinished, checkpoint, pb::JOB_STATE_SUCCEEDED);
        std::string next;
        const grpc::Status status = finished.go_on(next);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
        EXPECT_THAT(status.error_message(), HasSubstr("job " + finished.id +
                                                      " has succeeded and has no step left; submit "
                                                      "a job file with more tokens"));
        grpc::ClientContext context;
        pb::HistoryReply all;
        ASSERT_TRUE(finished.jobs->History(&context, pb::HistoryRequest(), &all).ok());
        EXPECT_EQ(all.jobs_size(), 1);
    }
}

TEST(SubmitJob, KnowsTheNodesOfItsDevicesByUniqueBeginnings) {
    Running running;
    const JoinedWorker worker(running.address, hello_of("abcdef", 2));
    JobSpec spec = small_spec();
    spec.resources.placement = {{{"abc"}, 1}, {{"abcdef"}, 0}};
    const pb::Job job = running.job(running.submit(spec));
    ASSERT_EQ(job.spec().resources().placement_size(), 2);
    EXPECT_EQ(job.spec().resources().placement(0).node_id(), "abcdef");
    EXPECT_EQ(job.spec().resources().placement(0).device(), 1);

    spec.resources.placement = {{{"abc"}, 1}, {{"abcdef"}, 1}};
    pb::SubmitReply reply;
    grpc::Status status = running.submit(Running::request(spec, "twice"), reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("device abcdef:1 is there twice"));

    spec.resources.placement = {{{"zz"}, 0}};
    status = running.submit(Running::request(spec, "unknown"), reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(),
              "resources.placement[0]: there is no node 'zz'; `ringmaster nodes` lists them");
}

Hello hello_with_l40s(const std::string& node) {
    Hello hello = hello_of(node, 2);
    for (DeviceInfo& device : hello.inventory.devices)
        device.kind = "L40S";
    hello.inventory.software.driver = "570.86.10";
    hello.profiles = {{"L40S", "570.86.10", "b1", 1.8e14, "{of " + node + "}"}};
    return hello;
}

TEST(ListNodes, HasTheTextOfAProfileOnceAndItsSpeedAtEveryNodeOfTheKind) {
    Running running;
    const JoinedWorker a(running.address, hello_with_l40s("a"));
    const JoinedWorker b(running.address, hello_with_l40s("b"));
    const JoinedWorker c(running.address, hello_of("c", 1));
    grpc::ClientContext context;
    pb::ListNodesReply reply;
    ASSERT_TRUE(running.nodes->List(&context, {}, &reply).ok());
    ASSERT_EQ(reply.nodes_size(), 3);
    ASSERT_EQ(reply.nodes(0).profiles_size(), 1);
    EXPECT_EQ(reply.nodes(0).profiles(0).text(), "{of a}");
    EXPECT_EQ(reply.nodes(0).profiles(0).node_id(), "a");
    ASSERT_EQ(reply.nodes(1).profiles_size(), 1);
    EXPECT_EQ(reply.nodes(1).profiles(0).text(), "");
    EXPECT_EQ(reply.nodes(1).profiles(0).node_id(), "a");
    EXPECT_EQ(reply.nodes(1).profiles(0).bf16_flops(), 1.8e14);
    EXPECT_GT(reply.nodes(1).profiles(0).time().seconds(), 0);
    EXPECT_EQ(reply.nodes(2).profiles_size(), 0);
}

TEST(DrainNode, AndResumeSayWhatTheNodeIs) {
    Running running;
    const JoinedWorker a(running.address, hello_of("a", 1));
    pb::DrainNodeRequest drain;
    drain.set_node_id("a");
    drain.set_reason("a new disk");
    pb::Node node;
    {
        grpc::ClientContext context;
        ASSERT_TRUE(running.nodes->Drain(&context, drain, &node).ok());
        EXPECT_EQ(node.drained(), "a new disk");
    }
    pb::ResumeNodeRequest resume;
    resume.set_node_id("a");
    {
        grpc::ClientContext context;
        ASSERT_TRUE(running.nodes->Resume(&context, resume, &node).ok());
        EXPECT_EQ(node.drained(), "");
    }
    resume.set_node_id("zz");
    grpc::ClientContext context;
    const grpc::Status status = running.nodes->Resume(&context, resume, &node);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(status.error_message(), "there is no node 'zz'");
}

grpc::Status drain(Running& running, const pb::DrainNodeRequest& request, pb::Node& node) {
    grpc::ClientContext context;
    return running.nodes->Drain(&context, request, &node);
}

TEST(DrainNode, OfAMachineThatIsGoneSaysSo) {
    Running running;
    pb::DrainNodeRequest request;
    request.set_node_id("a");
    request.set_gone(true);
    pb::Node node;
    {
        const JoinedWorker a(running.address, hello_of("a", 1));
        const grpc::Status status = drain(running, request, node);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
        EXPECT_THAT(status.error_message(), HasSubstr("node a has a session"));
    }
    request.set_keep_running(true);
    const grpc::Status status = drain(running, request, node);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("gone and keep_running"));
    request.set_keep_running(false);
    // The controller notices within moments that the session has ended.
    for (int i = 0; i < 2000 && !drain(running, request, node).ok(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(node.state(), pb::NODE_STATE_GONE);
}

TEST(ExplainJob, AddsTheLastStep) {
    OneRank running;
    TelemetrySender telemetry(running);
    pb::TelemetryMessage message = TelemetrySender::step(running.epoch, 3, 5.5);
    message.mutable_step()->set_seconds(1);
    message.mutable_step()->set_finite(true);
    (*message.mutable_step()->mutable_phase_seconds())["data"] = 0.5;
    telemetry.send(message);
    grpc::ClientContext context;
    pb::ExplainJobRequest request;
    request.set_job_id(running.id);
    pb::ExplainJobReply reply;
    ASSERT_TRUE(running.jobs->Explain(&context, request, &reply).ok());
    EXPECT_EQ(reply.job().last_step().step(), 3);
    ASSERT_EQ(reply.findings_size(), 2);
    EXPECT_EQ(reply.findings(0).kind(), pb::Finding::INFO);
    EXPECT_EQ(reply.findings(1).subject(), "data");
}

// Ids from all pages of one job each, newest first.
std::vector<std::string> history(Running& running, pb::HistoryRequest request) {
    std::vector<std::string> ids;
    request.set_page_size(1);
    do {
        grpc::ClientContext context;
        pb::HistoryReply reply;
        EXPECT_TRUE(running.jobs->History(&context, request, &reply).ok());
        EXPECT_EQ(reply.jobs_size(), 1) << "no page but an only one is empty";
        for (const pb::Job& job : reply.jobs())
            ids.push_back(job.id());
        request.set_page_token(reply.next_page_token());
    } while (!request.page_token().empty() && ids.size() < 10);
    return ids;
}

TEST(History, FiltersBeforeItCutsPages) {
    Running running;
    std::vector<std::string> ids;
    for (const char* from : {"", "/models/Llama", "", "/other/Llama", ""}) {
        JobSpec spec = small_spec();
        if (*from != '\0') spec.model = {.preset = "", .from = from};
        ids.push_back(running.submit(spec, format("request {}", ids.size())));
    }
    pb::HistoryRequest request;
    request.set_model("tiny");
    EXPECT_EQ(history(running, request), (std::vector{ids[4], ids[2], ids[0]}));
    request.set_model("Llama");
    EXPECT_EQ(history(running, request), (std::vector{ids[3], ids[1]}));
    request.set_model("/models/Llama");
    EXPECT_EQ(history(running, request), (std::vector{ids[1]}));
    request.clear_model();
    request.set_owner("default");
    *request.mutable_since() = running.job(ids[3]).submitted();
    EXPECT_EQ(history(running, request), (std::vector{ids[4], ids[3]}));
    for (const char* nobody : {"owner", "model"}) {
        pb::HistoryRequest none;
        nobody == std::string("owner") ? none.set_owner("ada") : none.set_model("lama");
        grpc::ClientContext context;
        pb::HistoryReply reply;
        ASSERT_TRUE(running.jobs->History(&context, none, &reply).ok());
        EXPECT_EQ(reply.jobs_size(), 0) << nobody;
    }
}

std::vector<pb::TopReply> top(Running& running, const std::string& id, double interval = 0,
                              std::size_t most = 1) {
    pb::TopRequest request;
    request.set_job_id(id);
    request.set_interval_seconds(interval);
    grpc::ClientContext context;
    const auto reader = running.jobs->Top(&context, request);
    std::vector<pb::TopReply> replies;
    pb::TopReply reply;
    while (replies.size() < most && reader->Read(&reply))
        replies.push_back(reply);
    context.TryCancel();
    reader->Finish();
    return replies;
}

TEST(Top, HasEveryRankWithItsOwnLastStep) {
    OneRank running;
    TelemetrySender telemetry(running);
    pb::TelemetryMessage message = TelemetrySender::step(running.epoch, 3, 5.5);
    pb::StepReport& step = *message.mutable_step();
    step.set_seconds(2);
    (*step.mutable_phase_seconds())["ring_exposed"] = 0.5;
    (*step.mutable_phase_seconds())["gather_exposed"] = 0.25;
    (*step.mutable_phase_seconds())["gemm"] = 1;
    (*step.mutable_memory_bytes())["weights"] = 100;
    (*step.mutable_memory_bytes())["host weights"] = 30;
    telemetry.send(message);
    const auto replies = top(running, "");
    ASSERT_EQ(replies.size(), 1u);
    ASSERT_EQ(replies[0].jobs_size(), 1);
    EXPECT_EQ(replies[0].jobs(0).job().id(), running.id);
    ASSERT_EQ(replies[0].jobs(0).ranks_size(), 1);
    const pb::TopRank& rank = replies[0].jobs(0).ranks(0);
    EXPECT_EQ(rank.node_id(), "a");
    EXPECT_TRUE(rank.session_up());
    EXPECT_TRUE(rank.running());
    EXPECT_EQ(rank.last_step(), 3);
    EXPECT_EQ(rank.step_seconds(), 2);
    EXPECT_EQ(rank.wait_seconds(), 0.75);
    EXPECT_EQ(rank.ring_wait_seconds(), 0.5);
    EXPECT_EQ(rank.device_bytes(), 100);
    EXPECT_EQ(rank.host_bytes(), 30);
}

TEST(Top, GoesOnUntilTheCallerLeavesOrItsJobHasEnded) {
    OneRank running;
    EXPECT_EQ(top(running, running.id, 0.2, 3).size(), 3u);
    running.end(kRankFinished, "", pb::JOB_STATE_SUCCEEDED);
    const auto replies = top(running, running.id, 0.2, 3);
    ASSERT_EQ(replies.size(), 1u) << "an ended job says so once";
    EXPECT_EQ(replies[0].jobs(0).job().state(), pb::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(replies[0].jobs(0).ranks_size(), 0);
    EXPECT_EQ(top(running, "")[0].jobs_size(), 0);
    EXPECT_TRUE(top(running, "zzzzzz").empty());
}

}  // namespace
}  // namespace rm::test
