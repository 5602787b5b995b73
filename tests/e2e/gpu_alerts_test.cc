// Every alert about GPUs fires once, on a machine whose GPUs are those of a file.
#include <mutex>
#include <thread>

#include "tests/e2e/support/alert_drill.h"
#include "tests/e2e/support/gpu_machine.h"

namespace rm::e2e {
namespace {

constexpr int kGpus = 7;

// A machine whose GPUs change while programs look at them. One repeats PCIe transfers for a while.
class ChangingMachine {
public:
    explicit ChangingMachine(std::string file)
        : file_(std::move(file)), machine_(test::machine_of(kGpus)) {
        test::show_machine(file_, machine_);
        thread_ = std::jthread([this](const std::stop_token& ended) {
            for (; !ended.stop_requested(); sleep(Seconds{0.2})) {
                const std::scoped_lock lock(mutex_);
                replays_ += replaying_ >= 0 ? 1 : 0;
                if (replaying_ >= 0) set(replaying_, "replays", replays_);
            }
        });
    }
    void change(int gpu, const std::string& key, const Json& value) {
        const std::scoped_lock lock(mutex_);
        set(gpu, key, value);
    }
    void replay(int gpu) {  // -1: none
        const std::scoped_lock lock(mutex_);
        replaying_ = gpu;
    }

private:
    void set(int gpu, const std::string& key, const Json& value) {
        machine_["gpus"][usize(gpu)][key] = value;
        test::show_machine(file_, machine_);
    }

    const std::string file_;
    std::mutex mutex_;
    Json machine_;
    int replaying_ = -1;
    int replays_ = 0;
    std::jthread thread_;
};

class GpuAlerts : public GpuMachineTest {
protected:
    void SetUp() override {
        if (!AlertDrill::why_not().empty()) GTEST_SKIP() << AlertDrill::why_not();
        GpuMachineTest::SetUp();
        if (IsSkipped()) return;
        machine_ = std::make_unique<ChangingMachine>(path("nvml.json"));
        cluster_ =
            up(state_, {"--workers", "1", "--devices-per-worker", format("{}", kGpus),
                        "--device-kind", "cuda", "--profile", "off", "--listen", "127.0.0.1:0"});
        ASSERT_TRUE(cluster_);
        const std::string http =
            Json::parse(read_file(state_ + "/controller/controller.json"))["http"];
        drill_ = std::make_unique<AlertDrill>(path("drill"), http);
        ASSERT_TRUE(wait_until(Seconds{60}, [&] {
            return drill_->prometheus().query("ringmaster_gpu_unfit").size() == kGpus;
        })) << drill_->prometheus().err();
    }
    void TearDown() override {
        drill_.reset();
        if (cluster_) stop(*cluster_);
        GpuMachineTest::TearDown();
    }
    // `key` has the value until the fault ends.
    DrilledFault fault(const std::string& alert, const std::string& what, double minutes, int gpu,
                       const std::string& key, const Json& value) {
        const Json before = test::l40s(gpu).value(key, Json::array());
        return {alert, what, [=, this] { machine_->change(gpu, key, value); },
                [=, this] { machine_->change(gpu, key, before); }, minutes};
    }

    const std::string state_ = path("state");
    std::unique_ptr<ChangingMachine> machine_;
    std::unique_ptr<Process> cluster_;
    std::unique_ptr<AlertDrill> drill_;
};

TEST_F(GpuAlerts, FireForEachFaultOfAGpuAndGoWithIt) {
    EXPECT_EQ(drill_->watch(drill_->patience.minutes(10)),
              std::set<std::string>{"RingmasterWatchdog"});
    drill_->run({
        fault("RingmasterEccUncorrectable", "2 uncorrected errors, then a reset", 1, 2,
              "uncorrected", 2),
        fault("RingmasterGpuThrottling", "a GPU is too hot", 15, 3, "throttle", 0x40),
        fault("RingmasterGpuHeadroomLow", "46,000 of 46,068 MiB are used", 6, 4, "used_mib", 46000),
        {"RingmasterPcieReplays", "5 repeated transfers a second", [&] { machine_->replay(5); },
         [&] { machine_->replay(-1); }, 30},
        fault("RingmasterGpuUnfit", "a row remap is pending", 11, 6, "remap_pending", true),
    });
    // The GPU with a fault of its hardware stays unfit.
    drill_->run({
        fault("RingmasterXidHardware", "Xid 79; the alert ends by itself", 11, 0, "xids", {79}),
        fault("RingmasterXidApplication", "Xid 31; the alert ends by itself", 11, 1, "xids", {31}),
    });
}

}  // namespace
}  // namespace rm::e2e
