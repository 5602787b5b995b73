#include "controller/daemon.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "controller/store/control_store.h"
#include "ringmaster/v1/admin.grpc.pb.h"
#include "tests/controller/running.h"
#include "tests/controller/store/stored_events.h"

namespace rm::test {
namespace {

TEST(JobApi, SubmitAnswersWithAnIdThatEveryCallKnows) {
    Running running;
    const std::string id = running.submit(small_spec());
    const pb::Job job = running.job(id.substr(0, 3));
    EXPECT_EQ(job.id(), id);
    EXPECT_EQ(job.state(), pb::JOB_STATE_PENDING);
    EXPECT_EQ(job.spec().yaml(), "name: small\n");
    EXPECT_EQ(job.num_steps(), 10);
    EXPECT_EQ(running.submit(small_spec()), id) << "the same request is the same job";
}

TEST(JobApi, PendingJobsSayWhy) {
    Running running;
    const std::string id = running.submit(small_spec());
    for (int i = 0; i < 2000; ++i) {
        const pb::Job job = running.job(id);
        ASSERT_EQ(job.blocking_reasons_size(), 1);
        if (job.blocking_reasons(0).find("no worker has joined") != std::string::npos) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << running.job(id).blocking_reasons(0);
}

TEST(JobApi, TheRightCodesComeWithOurWords) {
    Running running;
    pb::Job job;
    grpc::Status status = running.get("zzz", job);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(status.error_message(), "there is no job 'zzz'");

    running.submit(small_spec());
    JobSpec other = small_spec();
    other.seed = 9;
    pb::SubmitReply reply;
    EXPECT_EQ(running.submit(Running::request(other), reply).error_code(),
              grpc::StatusCode::ALREADY_EXISTS);

    other.stages[0].batch = 5000;
    status = running.submit(Running::request(other, "r2"), reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("stages[0].batch: 5000"), std::string::npos);

    other = small_spec();
    other.data.sources = {{"text"}};
    EXPECT_EQ(
        running.submit(Running::request(other, "r3"), reply).error_message(),
        "data.path: 'text' must be an absolute path, as workers see it, or ROOT:PATH below one "
        "of their roots");
    EXPECT_EQ(running.submit(Running::request(small_spec(), ""), reply).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    other = small_spec();
    other.stages[0].context = other.stages[0].batch = other.stages[0].tokens = 32;
    other.resources.devices = 7;
    status = running.submit(Running::request(other, "r4"), reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "no mesh of 7 fits";
}

TEST(JobApi, CancelEndsAPendingJobAndRefusesAnEndedOne) {
    Running running;
    const std::string id = running.submit(small_spec());
    EXPECT_TRUE(running.cancel(id).ok());
    EXPECT_EQ(running.job(id).state(), pb::JOB_STATE_CANCELLED);
    EXPECT_TRUE(running.cancel(id).ok()) << "cancelled is cancelled";
    EXPECT_EQ(running.cancel("nope").error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(JobApi, ListsArePagedNewestFirst) {
    Running running;
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i)
        ids.push_back(running.submit(small_spec(), format("r{}", i)));
    running.cancel(ids[4]);
    std::vector<std::string> listed;
    pb::ListJobsRequest request;
    request.set_page_size(3);
    do {
        grpc::ClientContext context;
        pb::ListJobsReply reply;
        ASSERT_TRUE(running.jobs->List(&context, request, &reply).ok());
        for (const pb::Job& job : reply.jobs())
            listed.push_back(job.id());
        request.set_page_token(reply.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(listed, (std::vector<std::string>{ids[3], ids[2], ids[1], ids[0]}));

    grpc::ClientContext context;
    pb::HistoryRequest history;
    history.set_state(pb::JOB_STATE_CANCELLED);
    pb::HistoryReply reply;
    ASSERT_TRUE(running.jobs->History(&context, history, &reply).ok());
    ASSERT_EQ(reply.jobs_size(), 1);
    EXPECT_EQ(reply.jobs(0).id(), ids[4]);

    grpc::ClientContext bad;
    request.set_page_token("x");
    pb::ListJobsReply none;
    EXPECT_EQ(running.jobs->List(&bad, request, &none).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(NodeApi, ShowsWorkersAndWhatIsBusy) {
    Running running;
    FakeWorker worker(running.address, hello_of("node-a", 2));
    worker.take<HelloReply>();
    grpc::ClientContext context;
    pb::ListNodesReply reply;
    ASSERT_TRUE(running.nodes->List(&context, {}, &reply).ok());
    ASSERT_EQ(reply.nodes_size(), 1);
    EXPECT_EQ(reply.nodes(0).state(), pb::NODE_STATE_READY);
    EXPECT_TRUE(reply.nodes(0).session_up());
    EXPECT_EQ(reply.nodes(0).inventory().devices_size(), 2);
    EXPECT_EQ(reply.nodes(0).busy_devices_size(), 0);
    running.submit(small_spec(ring(1)));
    worker.take<LaunchAttempt>();
    grpc::ClientContext again;
    pb::GetNodeRequest request;
    request.set_node_id("node");
    pb::Node node;
    ASSERT_TRUE(running.nodes->Get(&again, request, &node).ok());
    EXPECT_EQ(node.busy_devices_size(), 1);
}

// A job over two fake workers, running.
struct RunningJob : Running {
    JoinedWorker a{address, hello_of("a", 1)};  // has rank 0
    JoinedWorker b{address, hello_of("b", 1)};
    std::string id;
    Epoch epoch;

    RunningJob() {
        id = submit(small_spec(ring(2)));
        epoch = a.take<LaunchAttempt>().epoch;
        b.take<LaunchAttempt>();
        a.say(status_of(epoch, {id}, {training(0)}, Left::yes));
        b.say(status_of(epoch, {id}, {training(1)}, Left::yes));
        wait_for(id, pb::JOB_STATE_RUNNING);
    }
    void finish(int code) {
        a.say(status_of(epoch, {id}, {ended(0, code)}, Left::no));
        b.say(status_of(epoch, {id}, {ended(1, code)}, Left::no));
    }
};

TEST(Life, OfAJobFromSubmitToSuccess) {
    RunningJob running;
    running.finish(0);
    const pb::Job job = running.wait_for(running.id, pb::JOB_STATE_SUCCEEDED);
    ASSERT_EQ(job.attempts_size(), 1);
    EXPECT_EQ(job.attempts(0).state(), pb::ATTEMPT_STATE_SUCCEEDED);
    EXPECT_EQ(job.attempts(0).placement(1).node_id(), "b");
    EXPECT_EQ(job.attempts(0).placement(1).coordinates().ring(), 1);
    EXPECT_EQ(job.attempts(0).placement(1).coordinates().data(), 0);
    EXPECT_EQ(running.a.take<ForgetAttempt>().epoch, running.epoch);
}

TEST(Life, CancelStopsTheRanks) {
    RunningJob running;
    ASSERT_TRUE(running.cancel(running.id).ok());
    EXPECT_EQ(running.a.take<StopAttempt>().mode, StopMode::graceful);
    running.finish(kRankStopped);
    running.wait_for(running.id, pb::JOB_STATE_CANCELLED);
}

TEST(Life, AJobSurvivesARestartOfTheController) {
    RunningJob running;
    running.restart();
    EXPECT_EQ(running.job(running.id).state(), pb::JOB_STATE_RUNNING);
    const AttemptStatus alive = status_of(running.epoch, {running.id}, {training(0)}, Left::yes);
    const AttemptStatus gone = status_of(running.epoch, {running.id}, {ended(1, 0)}, Left::no);
    FakeWorker a(running.address, hello_of("a", 1, {alive}));
    FakeWorker b(running.address, hello_of("b", 1, {gone}));
    a.take<HelloReply>();
    a.say(status_of(running.epoch, {running.id}, {ended(0, 0)}, Left::no));
    running.wait_for(running.id, pb::JOB_STATE_SUCCEEDED);
    b.take<ForgetAttempt>();
}

TEST(Session, OfAnotherProtocolIsRefusedInWordsTheWorkerCanShow) {
    Running running;
    Hello hello = hello_of("a", 1);
    hello.protocol = 7;
    FakeWorker worker(running.address, hello);
    const Status status = worker.wait_for_end();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(status.error().message.find("speaks protocol 7"), std::string::npos)
        << status.error().message;
}

TEST(Session, ASecondOneOfTheSameNodeIsRefused) {
    Running running;
    FakeWorker first(running.address, hello_of("a", 1));
    first.take<HelloReply>();
    FakeWorker second(running.address, hello_of("a", 1));
    const Status status = second.wait_for_end();
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("has a live session from"), std::string::npos);
}

TEST(Telemetry, ReportsAppearInGetAndAreAcknowledged) {
    RunningJob running;
    TelemetrySender telemetry(running);
    EXPECT_EQ(telemetry.send(TelemetrySender::step(running.epoch, 1, 5.5)).reports_offset(), 100);
    EXPECT_EQ(telemetry.send(TelemetrySender::step(running.epoch, 2, 4.5)).reports_offset(), 200);
    pb::TelemetryMessage evaluation;
    evaluation.set_epoch(running.epoch.value);
    evaluation.set_end_offset(300);
    evaluation.mutable_evaluation()->set_loss(4.25);
    EXPECT_EQ(telemetry.send(evaluation).reports_offset(), 300);
    const pb::Job job = running.job(running.id);
    EXPECT_EQ(job.last_step().step(), 2);
    EXPECT_EQ(job.last_step().loss(), 4.5);
    EXPECT_TRUE(job.last_step().has_time());
    EXPECT_EQ(job.last_evaluation().loss(), 4.25);
    EXPECT_TRUE(telemetry.finish().ok());
}

TEST(Telemetry, WhatRanksSayOfTheirConnectionsIsShownWithTheirAttempt) {
    RunningJob running;
    TelemetrySender telemetry(running);
    pb::TelemetryMessage message;
    message.set_epoch(running.epoch.value);
    message.set_rank(1);
    message.set_end_offset(100);
    message.set_note("rank 1 sends to rank 0 and receives from rank 0");
    message.mutable_connected()->set_address("10.0.0.1");
    (*message.mutable_connected()->mutable_peers())[0].set_other("10.0.0.2:4000");
    EXPECT_EQ(telemetry.send(message).reports_offset(), 100);
    const pb::Job job = running.job(running.id);
    ASSERT_EQ(job.attempts(0).connections().count(1), 1u) << job.ShortDebugString();
    const pb::ConnectedReport& said = job.attempts(0).connections().at(1);
    EXPECT_EQ(said.address(), "10.0.0.1");
    EXPECT_EQ(said.peers().at(0).other(), "10.0.0.2:4000");
}

TEST(Telemetry, OfAnUnknownAttemptIsAcknowledgedAndDropped) {
    Running running;
    TelemetrySender telemetry(running);
    EXPECT_EQ(telemetry.send(TelemetrySender::step({77}, 1, 5.5)).reports_offset(), 100);
    EXPECT_EQ(telemetry.send(TelemetrySender::log({77}, 0, 3, "abc")).log_offset(), 3);
}

TEST(Watch, ShowsTheJobItsStepsAndItsEnd) {
    RunningJob running;
    TelemetrySender telemetry(running);
    telemetry.send(TelemetrySender::step(running.epoch, 1, 5.5));
    grpc::ClientContext context;
    pb::WatchRequest request;
    request.set_job_id(running.id);
    const auto watch = running.jobs->Watch(&context, request);
    pb::JobUpdate update;
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_EQ(update.job().state(), pb::JOB_STATE_RUNNING);
    EXPECT_EQ(update.job().last_step().step(), 1);
    telemetry.send(TelemetrySender::step(running.epoch, 2, 4.5));
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_EQ(update.step().step(), 2);
    pb::TelemetryMessage note;
    note.set_epoch(running.epoch.value);
    note.set_end_offset(250);
    note.set_note("between the steps");
    telemetry.send(note);
    ASSERT_TRUE(watch->Read(&update));
    EXPECT_EQ(update.note(), "between the steps");
    running.finish(0);
    pb::JobState last = pb::JOB_STATE_UNSPECIFIED;
    while (watch->Read(&update))
        last = update.job().state();
    EXPECT_EQ(last, pb::JOB_STATE_SUCCEEDED);
    EXPECT_TRUE(watch->Finish().ok());
}

TEST(Watch, OfAnEndedJobIsItsEnd) {
    Running running;
    const std::string id = running.submit(small_spec());
    running.cancel(id);
    grpc::ClientContext context;
    pb::WatchRequest request;
    request.set_job_id(id);
    const auto watch = running.jobs->Watch(&context, request);
    pb::JobUpdate update;
    int updates = 0;
    while (watch->Read(&update))
        ++updates;
    EXPECT_EQ(updates, 1);
    EXPECT_EQ(update.job().state(), pb::JOB_STATE_CANCELLED);
}

std::string read_log(Running& running, const pb::LogsRequest& request, grpc::Status* status) {
    grpc::ClientContext context;
    const auto stream = running.jobs->Logs(&context, request);
    std::string text;
    pb::LogPiece piece;
    while (stream->Read(&piece))
        text += piece.data();
    *status = stream->Finish();
    return text;
}

TEST(Logs, AreReadFromAnOffsetAndFollowedToTheEnd) {
    RunningJob running;
    TelemetrySender telemetry(running);
    telemetry.send(TelemetrySender::log(running.epoch, 1, 6, "hello\n"));
    pb::LogsRequest request;
    request.set_job_id(running.id);
    request.set_rank(1);
    grpc::Status status;
    EXPECT_EQ(read_log(running, request, &status), "hello\n");
    request.set_offset(2);
    EXPECT_EQ(read_log(running, request, &status), "llo\n");
    request.set_follow(true);
    auto followed = std::async(std::launch::async, [&] {
        grpc::Status end;
        return read_log(running, request, &end);
    });
    telemetry.send(TelemetrySender::log(running.epoch, 1, 10, "bye\n"));
    running.finish(0);
    EXPECT_EQ(followed.get(), "llo\nbye\n");
    std::ifstream file(running.directory.file("state/logs/" + running.id + "/e1/rank-1.log"));
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), "hello\nbye\n");
}

TEST(Logs, OfWhatIsNotThereSaySo) {
    RunningJob running;
    pb::LogsRequest request;
    request.set_job_id(running.id);
    request.set_rank(2);
    grpc::Status status;
    read_log(running, request, &status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_NE(status.error_message().find("has ranks 0 to 1, not 2"), std::string::npos);
}

grpc::Status meet(Running& running, Epoch epoch, const std::string& node, int rank,
                  pb::ExchangeReply& reply) {
    grpc::ClientContext context;
    pb::ExchangeRequest request;
    request.set_epoch(epoch.value);
    request.set_group("gloo");
    request.set_node_id(node);
    (*request.mutable_blobs())[rank] = format("address {}", rank);
    return running.rendezvous->Exchange(&context, request, &reply);
}

TEST(Exchange, GivesEverybodyTheWholeTable) {
    RunningJob running;
    pb::ExchangeReply first;
    auto waiting =
        std::async(std::launch::async, [&] { return meet(running, running.epoch, "a", 0, first); });
    pb::ExchangeReply second;
    ASSERT_TRUE(meet(running, running.epoch, "b", 1, second).ok());
    ASSERT_TRUE(waiting.get().ok());
    ASSERT_EQ(first.blobs_size(), 2);
    EXPECT_EQ(first.blobs(1), "address 1");
    EXPECT_EQ(second.blobs(0), "address 0");
    EXPECT_TRUE(meet(running, running.epoch, "a", 0, first).ok()) << "again, after a reconnect";
    EXPECT_EQ(meet(running, running.epoch, "a", 1, first).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << "rank 1 is not on node a";
}

TEST(Exchange, EndsWithTheAttempt) {
    RunningJob running;
    pb::ExchangeReply reply;
    auto waiting =
        std::async(std::launch::async, [&] { return meet(running, running.epoch, "a", 0, reply); });
    running.finish(1);
    EXPECT_EQ(waiting.get().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    pb::ExchangeReply old;
    EXPECT_EQ(meet(running, {99}, "a", 0, old).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(Daemon, OnAStateDirectoryInUseIsRefused) {
    Running running;
    DaemonOptions options = running.options();
    options.listen = {"127.0.0.1:0"};
    const auto second = Daemon::start(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::failed_precondition);
}

TEST(Daemon, AnAddressInUseIsNamed) {
    Running running;
    DaemonOptions options = running.options();
    options.state_dir = running.directory.file("other");
    const auto second = Daemon::start(options);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find(running.address), std::string::npos);
}

std::string backup_of(Running& running) {
    const auto admin = pb::AdminService::NewStub(make_channel(running.address).value());
    grpc::ClientContext context;
    const auto stream = admin->Backup(&context, pb::BackupRequest());
    const std::string path = running.directory.file("backup.db");
    std::ofstream file(path, std::ios::binary);
    pb::BackupPiece piece;
    while (stream->Read(&piece))
        file << piece.data();
    const grpc::Status status = stream->Finish();
    RM_CHECK(status.ok(), "{}", status.error_message());
    return path;
}

TEST(Restore, IsForAStoppedControllerAndBringsBackWhatWas) {
    Running running;
    const std::string kept = running.submit(small_spec(), "r1");
    const std::string backup = backup_of(running);
    const std::string lost = running.submit(small_spec(), "r2");
    const std::string state = running.directory.file("state");
    EXPECT_EQ(restore_state({backup, ""}, state).error().code, ErrorCode::failed_precondition);
    running.daemon.reset();
    const auto said = restore_state({backup, ""}, state);
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_NE(said->find("control.db.replaced-"), std::string::npos) << *said;
    running.start();
    EXPECT_EQ(running.job(kept).id(), kept);
    pb::Job job;
    EXPECT_EQ(running.get(lost, job).error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_FALSE(std::filesystem::exists(state + "/restored-from")) << "said once";
    running.daemon.reset();
    const auto events = read_events(state + "/control.db").value();
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const AuditEvent& event) {
        return event.kind == "cluster.restored";
    }));
}

}  // namespace
}  // namespace rm::test
