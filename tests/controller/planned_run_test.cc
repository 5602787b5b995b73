#include "engine/schedule/device_profile_json.h"
#include "tests/controller/running.h"

// A plan held against its run, through a whole controller: what ranks report becomes the attempt's
// measured step, and the next plans' times.
namespace rm::test {
namespace {

DeviceProfile cpu_profile() {
    DeviceProfile profile = published_profiles().front();
    profile.compute = DType::f32;
    profile.held = {};
    for (OpSpeed& op : profile.ops)
        op.workspace = {};
    return profile;
}

Hello measured_node() {
    Hello hello = hello_of("a", 1);
    hello.inventory.devices[0].memory = {std::int64_t{8} << 30};
    hello.inventory.devices[0].num_threads = 1;
    const std::string driver = profile_driver(hello.inventory, "cpu", Precision::fp32);
    hello.profiles = {{"cpu", driver, "b1", 1e12, to_json(cpu_profile())}};
    return hello;
}

struct Planned : Running {
    JoinedWorker worker{address, measured_node()};
    int made = 0;

    // Trains a job whose steps take `times` as long as planned; returns it once it was measured.
    pb::Job run(double times) {
        const std::string id = submit(small_spec(), format("r{}", made++));
        const LaunchAttempt launch = worker.take<LaunchAttempt>();
        const double planned = job(id).attempts(0).predicted().step_seconds();
        worker.say(status_of(launch.epoch, {id}, {training(0)}, Left::yes));
        TelemetrySender telemetry(*this);
        for (int step = 1; step <= 6; ++step) {
            pb::TelemetryMessage message = TelemetrySender::step(launch.epoch, step, 5);
            message.mutable_step()->set_seconds(step == 1 ? 100 : times * planned);
            telemetry.send(message);
        }
        pb::Job measured;
        for (int i = 0; i < 2000 && measured.attempts_size() == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            measured = job(id);
            if (measured.attempts(0).measured_step_seconds() == 0) measured.Clear();
        }
        worker.say(status_of(launch.epoch, {id}, {ended(0, kRankFinished)}, Left::no));
        wait_for(id, pb::JOB_STATE_SUCCEEDED);
        return measured;
    }
};

TEST(PlannedRun, IsMeasuredAndCorrectsTheNextPlan) {
    Planned cluster;
    double bare = 0;
    for (int i = 0; i < 3; ++i) {
        const pb::Job job = cluster.run(1.25);
        ASSERT_EQ(job.attempts_size(), 1);
        const pb::PlanPrediction& plan = job.attempts(0).predicted();
        EXPECT_EQ(plan.correction(), 0);
        EXPECT_DOUBLE_EQ(job.attempts(0).measured_step_seconds(), 1.25 * plan.step_seconds())
            << "the median leaves the first step out";
        bare = plan.step_seconds();
    }
    const pb::Job next = cluster.run(1);
    ASSERT_EQ(next.attempts_size(), 1);
    EXPECT_DOUBLE_EQ(next.attempts(0).predicted().correction(), 1.25);
    EXPECT_NEAR(next.attempts(0).predicted().step_seconds(), 1.25 * bare, 1e-3 * bare)
        << "one device waits for no link";
}

}  // namespace
}  // namespace rm::test
