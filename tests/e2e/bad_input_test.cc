#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/grpc/grpc_util.h"
#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

namespace pb = ringmaster::v1;

constexpr Seconds kJobLimit{120};

void expect_in(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    }
}

class BadInput : public E2eTest {
protected:
    // Runs `up --job` on a wrong job file: it starts nothing and exits with code 2.
    std::string refused(const JobText& job) {
        const Finished run = cli(
            {"up", "--workers", "2", "--state", path("state"), "--job", write_job(job)}, kJobLimit);
        EXPECT_EQ(run.code, 2) << run.out << run.err;
        EXPECT_FALSE(std::filesystem::exists(path("state"))) << "something was started";
        return run.err;
    }
    // Runs a job that starts and fails, or never starts.
    Finished failed(const JobText& job) {
        return cli({"up", "--workers", "2", "--state", path("state"), "--job", write_job(job)},
                   kJobLimit);
    }
};

// ---- the job file

TEST_F(BadInput, AnUnknownKeyIsNamedWithItsPlaceAndTheNearestOne) {
    expect_in(refused({.extra = "resorces: {devices: 2}\n"}),
              {"job.yaml:9:1: ", "resorces", "resources"});
}

TEST_F(BadInput, ADuplicateKeyIsNamedWithItsPlace) {
    expect_in(refused({.extra = "name: again\n"}), {"job.yaml:9:1: ", "name", "line 1"});
}

TEST_F(BadInput, AWrongValueIsNamedWithItsPlace) {
    expect_in(refused({.extra = "checkpoint: {every: soon}\n"}),
              {"job.yaml:9:21: ", "soon", "10 steps"});
}

TEST_F(BadInput, AGroupThatHasNoEffectIsRefused) {
    expect_in(refused({.extra = "fp8: {gradients: e4m3}\n"}),
              {"job.yaml:9:", "fp8", "precision is fp32"});
}

TEST_F(BadInput, BrokenYamlIsPointedAt) {
    write_file(path("broken.yaml"), "name: demo\nmodel: {preset: micro\n");
    const Finished run = cli({"submit", path("broken.yaml")});
    EXPECT_EQ(run.code, 2);
    expect_in(run.err, {"broken.yaml:3:1: "});
}

TEST_F(BadInput, AJobFileThatIsNotThereIsNamed) {
    const Finished run = cli({"submit", path("nowhere.yaml")});
    EXPECT_EQ(run.code, 2);
    expect_in(run.err, {"nowhere.yaml", "No such file"});
}

// ---- context and mesh

TEST_F(BadInput, AContextTooShortForTheMeshNamesBoth) {
    expect_in(
        refused({.stages = "  - {context: 16, batch: 64, tokens: 640, learning_rate: 1e-3}\n"}),
        {"context", "16", "ring"});
}

TEST_F(BadInput, ABatchThatIsNoMultipleOfTheContextNamesTheNearest) {
    expect_in(
        refused({.stages = "  - {context: 256, batch: 600, tokens: 6000, learning_rate: 1e-3}\n"}),
        {"batch", "600", "512 or 768"});
}

TEST_F(BadInput, AMeshAxisOfZeroIsRefused) {
    expect_in(refused({.parallel = "{ring: 0}"}),
              {"job.yaml:6:18: ", "parallel.ring: 0", "1 or more"});
}

TEST_F(BadInput, AMeshThatDisagreesWithTheDevicesNamesBoth) {
    expect_in(refused({.extra = "resources: {devices: 3}\n"}), {"devices", "3", "2"});
}

TEST_F(BadInput, AMeshLargerThanTheClusterNeverStartsAndSaysWhy) {
    const std::string stages =
        "  - {context: 1024, batch: 1024, tokens: 10240, learning_rate: 1e-3}\n";
    const Finished run = failed({.stages = stages, .parallel = "{ring: 8}"});
    EXPECT_EQ(run.code, 4) << run.err;
    expect_in(run.err, {"cannot start on this cluster", "8", "2"});
}

// ---- data

TEST_F(BadInput, MissingDataIsNamedBeforeAnythingStarts) {
    expect_in(refused({.data = path("no-such-text")}),
              {"data.path", path("no-such-text"), "does not exist"});
}

TEST_F(BadInput, EmptyDataFailsTheJobWithTheRanksOwnWords) {
    std::filesystem::create_directories(path("nothing"));
    const Finished run = failed({.data = path("nothing")});
    EXPECT_EQ(run.code, 5) << run.err;
    expect_in(run.err, {"failed: ", path("nothing")});
}

// ---- checkpoints

TEST_F(BadInput, ATornCheckpointIsSkippedForThePreviousOneAndSaysSo) {
    const auto config = [&](int tokens) {
        const Json json = {
            {"name", "torn"},
            {"model", {{"preset", "micro"}}},
            {"data", {{"path", path("text")}}},
            {"stages",
             {{{"context", 256}, {"batch", 512}, {"tokens", tokens}, {"learning_rate", 1e-3}}}},
            {"parallel", {{"ring", 2}}},
            {"memory", {{"tile", 64}}},
            {"checkpoint", {{"dir", path("ckpt")}, {"every_steps", 2}, {"keep", 3}}}};
        write_file(path("train.json"), json.dump());
        return path("train.json");
    };
    const Finished first = run({program("ring-train"), config(2048)}, kJobLimit);
    ASSERT_EQ(first.code, 0) << first.out << first.err;
    const std::string newest = path("ckpt/e1-s4");
    ASSERT_TRUE(std::filesystem::is_directory(newest)) << first.out;
    for (const auto& entry : std::filesystem::directory_iterator(newest)) {
        if (entry.path().extension() != ".safetensors") continue;
        std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    }
    const Finished second = run({program("ring-train"), config(2048)}, kJobLimit);
    EXPECT_EQ(second.code, 0) << second.out << second.err;
    expect_in(second.out, {"checkpoint e1-s4 skipped: ", "using e1-s2", "step 3/4"});
    EXPECT_EQ(second.out.find("step 2/4"), std::string::npos) << second.out;
}

// ---- addresses

// Listens until the end of the scope.
struct TakenPort {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port = 0;

    TakenPort() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        RM_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd, 1) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                 "no port can be taken");
        port = ntohs(address.sin_port);
    }
    ~TakenPort() { close(fd); }
};

TEST_F(BadInput, APortInUseIsNamed) {
    const TakenPort taken;
    const std::string address = format("127.0.0.1:{}", taken.port);
    const Finished grpc = cli({"up", "--workers", "1", "--state", path("a"), "--listen", address,
                               "--http", "127.0.0.1:0"});
    EXPECT_EQ(grpc.code, 1) << grpc.err;
    expect_in(grpc.err, {address, "in use"});
    const Finished http = cli({"up", "--workers", "1", "--state", path("b"), "--listen",
                               "127.0.0.1:0", "--http", address});
    EXPECT_EQ(http.code, 1) << http.err;
    expect_in(http.err, {address, "in use"});
}

TEST_F(BadInput, AnAddressBeyondLoopbackIsRefused) {
    const Finished listens = cli({"up", "--state", path("state"), "--listen", "0.0.0.0:7070"});
    EXPECT_EQ(listens.code, 2) << listens.err;
    expect_in(listens.err, {"--listen", "0.0.0.0:7070", "127.0.0.1:7070"});
    const Finished dials = cli({"--address", "192.0.2.1:7070", "ls"});
    EXPECT_NE(dials.code, 0);
    expect_in(dials.err, {"192.0.2.1:7070", "TLS is required"});
}

TEST_F(BadInput, AControllerThatIsNotThereIsNamedAfterThreeTries) {
    const Finished run = cli({"--address", "unix:" + path("nobody.sock"), "ls"});
    EXPECT_EQ(run.code, 1) << run.err;
    expect_in(run.err, {path("nobody.sock"), "retrying", "3 tries", "ringmaster up"});
}

// ---- devices

TEST_F(BadInput, GpusThatAWorkerCannotOfferAreRefusedWithTheReasonAndCpuSlotsOffered) {
    const Finished worker = run({program("ringmaster-worker"), "--state", path("state"),
                                 "--controller", "unix:" + path("c.sock"), "--devices", "cuda:1"});
    EXPECT_EQ(worker.code, 1) << worker.err;
    expect_in(worker.out + worker.err,
              {"--devices: GPUs cannot be offered: ", "cpu:N offers CPU slots"});
    EXPECT_FALSE(std::filesystem::exists(path("state")));
}

// ---- a worker of another protocol

TEST_F(BadInput, AWorkerOfAnotherProtocolIsRefusedWithBothNumbersAndNothingIsLost) {
    const std::string state = path("state");
    const auto cluster = up(state, {"--workers", "2"});
    ASSERT_TRUE(cluster);
    const std::string address = Json::parse(read_file(state + "/ringmaster.json"))["address"];
    const auto channel = make_channel(address);
    ASSERT_TRUE(channel);
    const auto stub = pb::WorkerService::NewStub(*channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto stream = stub->Session(&context);
    pb::WorkerMessage hello;
    hello.mutable_hello()->set_protocol(99);
    hello.mutable_hello()->set_node_id("from-the-future");
    EXPECT_TRUE(stream->Write(hello));
    pb::ControllerMessage answer;
    while (stream->Read(&answer))
        EXPECT_FALSE(answer.has_launch());
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
    expect_in(status.error_message(), {"from-the-future", "protocol 99", "serves "});

    EXPECT_EQ(Json::parse(at(state, {"nodes", "-o", "json"}).out).size(), 2u);
    const Finished job = at(state, {"submit", write_job({}), "--follow"});
    EXPECT_EQ(job.code, 0) << job.err;
    stop(*cluster);
}

}  // namespace
}  // namespace rm::e2e
