#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "engine/schedule/device_profile_json.h"
#include "tests/controller/running.h"

// The detail of attempts' plans, through a whole controller whose planner is the real one.
namespace rm::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct Detailed : Running {
    grpc::Status ask(const std::string& job, pb::PlanDetailReply& reply, std::int64_t attempt = 0) {
        grpc::ClientContext context;
        pb::PlanDetailRequest request;
        request.set_job_id(job);
        request.set_attempt(attempt);
        return jobs->PlanDetail(&context, request, &reply);
    }
    pb::PlanDetailReply detail(const std::string& job) {
        pb::PlanDetailReply reply;
        const grpc::Status status = ask(job, reply);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return reply;
    }
};

// Its speeds are those of an L40S: only the memory is that of a CPU.
Hello measured_cpus() {
    Hello hello = hello_of("a", 2);
    for (DeviceInfo& device : hello.inventory.devices) {
        device.memory = {8 * kGiB};
        device.num_threads = 1;
    }
    DeviceProfile profile = published_profiles().front();
    profile.compute = DType::f32;
    profile.held = {};
    for (OpSpeed& op : profile.ops)
        op.workspace = {};
    const std::string driver = profile_driver(hello.inventory, "cpu", Precision::fp32);
    hello.profiles = {{"cpu", driver, "b1", 1e12, to_json(profile)}};
    return hello;
}

Hello l40s(const std::string& node) {
    Hello hello = hello_of(node, 8);
    for (DeviceInfo& device : hello.inventory.devices) {
        device.kind = "L40S";
        device.memory = {45 * kGiB};
        device.host_memory = {130 * kGiB};
    }
    hello.inventory.software.nccl = "2.21";
    return hello;
}

template <typename Numbers>
std::int64_t most(const Numbers& numbers) {
    return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

std::int64_t state_of_device(const pb::PlannedStep& step) {
    std::int64_t sum = step.held_bytes();
    for (const auto& [kind, bytes] : step.state_bytes())
        sum += memory_name(kind).on_host ? 0 : bytes;
    return sum;
}

void expect_whole(const pb::PlanDetailReply& reply, const pb::Attempt& attempt) {
    const pb::PlannedStep& step = reply.step();
    EXPECT_EQ(reply.attempt(), attempt.epoch());
    EXPECT_EQ(reply.predicted().device_bytes(), attempt.predicted().device_bytes());
    const std::int64_t state = state_of_device(step);
    EXPECT_EQ(state + step.device_arena_bytes(), attempt.predicted().device_bytes());
    EXPECT_LE(state + most(step.device_bytes()), attempt.predicted().device_bytes());
    EXPECT_GE(static_cast<double>(most(step.device_bytes())),
              0.9 * static_cast<double>(step.device_arena_bytes()))
        << "the arena's blocks leave little between them";
    EXPECT_EQ(step.device_bytes_size(), 512);
    EXPECT_THAT(step.device_bytes(), Each(Ge(0)));
    EXPECT_THAT(step.host_bytes(), Each(Ge(0)));
    for (const pb::StreamUse& stream : step.streams())
        EXPECT_THAT(stream.busy(), Each(AllOf(Ge(0), Le(1))));
}

TEST(PlanDetailOp, ShowsTheAttemptsOwnPlanBesideTheOtherMeshes) {
    Detailed cluster;
    JoinedWorker worker(cluster.address, measured_cpus());
    const std::string id = cluster.submit(small_spec());
    worker.take<LaunchAttempt>();
    const pb::Attempt attempt = cluster.job(id).attempts(0);
    const pb::PlanDetailReply reply = cluster.detail(id.substr(0, 4));
    EXPECT_EQ(reply.job_id(), id);
    expect_whole(reply, attempt);
    EXPECT_TRUE(reply.step().timed());
    EXPECT_EQ(reply.step().kind(), "cpu");
    EXPECT_EQ(reply.step().device_capacity_bytes(), 8 * kGiB);
    EXPECT_FALSE(reply.step().links_measured());
    EXPECT_EQ(reply.ranking().basis(), "by the present devices, as if nothing else ran");
    const auto& meshes = reply.ranking().meshes();
    const auto chosen = std::find_if(meshes.begin(), meshes.end(),
                                     [](const pb::RankedMesh& row) { return row.chosen(); });
    ASSERT_NE(chosen, meshes.end());
    EXPECT_EQ(chosen->mesh().ring(), attempt.mesh().ring());
    EXPECT_EQ(chosen->zero(), attempt.zero());
    EXPECT_EQ(chosen->predicted().device_bytes(), attempt.predicted().device_bytes());
    EXPECT_LT(chosen->predicted().step_seconds(), 1.01 * meshes[0].predicted().step_seconds())
        << "a search for one plan ends where it is that near";
    pb::PlanDetailReply again;
    EXPECT_TRUE(cluster.ask(id, again, attempt.epoch()).ok());
    EXPECT_EQ(again.step().SerializeAsString().size(), reply.step().SerializeAsString().size());
}

TEST(PlanDetailOp, OfOtherJobsAndAttemptsSaysWhatIsMissing) {
    Detailed cluster;
    pb::PlanDetailReply reply;
    grpc::Status status = cluster.ask("zzzzzz", reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    const std::string id = cluster.submit(small_spec());
    status = cluster.ask(id, reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("job " + id + " has no attempt yet"));
    JoinedWorker worker(cluster.address, hello_of("a", 1));
    worker.take<LaunchAttempt>();
    status = cluster.ask(id, reply, 77);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(status.error_message(), format("job {} has no attempt 77", id));
}

TEST(PlanDetailOp, OfAPlanThatNothingPredictsSaysWhy) {
    Detailed cluster;
    Hello hello = hello_of("g", 1);
    hello.inventory.devices[0].kind = "B200";
    JoinedWorker worker(cluster.address, hello);
    JobSpec spec = small_spec();
    spec.precision = "bf16";
    spec.resources.kind = "B200";
    const std::string id = cluster.submit(spec);
    const Epoch epoch = worker.take<LaunchAttempt>().epoch;
    pb::PlanDetailReply reply;
    const grpc::Status status = cluster.ask(id, reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                HasSubstr(format("no dry run can be made of the plan of attempt {}: the speeds of "
                                 "B200 devices in bf16 are not known",
                                 epoch)));
}

#ifndef RM_SANITIZED
TEST(PlanDetailOp, OfAMillionTokensOnManyDevicesStaysSmall) {
    Detailed cluster;
    std::vector<std::unique_ptr<JoinedWorker>> workers;
    for (const char* node : {"a", "b", "c", "d"})
        workers.push_back(std::make_unique<JoinedWorker>(cluster.address, l40s(node)));
    JobSpec spec = small_spec(ring(32));
    spec.model.preset = "llama3-8b";
    spec.precision = "bf16";
    spec.zero = 3;
    spec.resources.kind = "L40S";
    spec.stages = {StageSpec{.context = 1 << 20, .batch = 1 << 20, .tokens = 100 << 20}};
    const std::string id = cluster.submit(spec);
    workers.front()->take<LaunchAttempt>();
    const pb::PlanDetailReply reply = cluster.detail(id);
    expect_whole(reply, cluster.job(id).attempts(0));
    EXPECT_TRUE(reply.step().timed());
    EXPECT_GT(reply.step().streams_size(), 1);
    std::string json;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(reply, &json).ok());
    RecordProperty("json_bytes", static_cast<int>(json.size()));
    EXPECT_LT(json.size(), std::size_t{64} << 10);
}
#endif

}  // namespace
}  // namespace rm::test
