// Inventories of GPUs that NVML shows, from the worker to every place where a person reads them.
#include "tests/e2e/support/gpu_machine.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

class GpuFleet : public GpuMachineTest {
protected:
    void TearDown() override {
        if (cluster_) stop(*cluster_);
        GpuMachineTest::TearDown();
    }
    // One worker that offers `count` GPUs.
    void start_with(const Json& machine, int count) {
        show_machine(machine);
        cluster_ =
            up(state_, {"--workers", "1", "--devices-per-worker", format("{}", count),
                        "--device-kind", "cuda", "--profile", "off", "--listen", "127.0.0.1:0"});
        ASSERT_TRUE(cluster_);
    }
    Finished here(std::vector<std::string> arguments) { return at(state_, std::move(arguments)); }
    Json node() { return Json::parse(here({"nodes", "-o", "json"}).out)[0]; }
    bool becomes_unfit(int gpu, const std::string& why) {
        return wait_until(Seconds{30}, [&] {
            return node()["inventory"]["devices"][usize(gpu)].value("unfit", "") == why;
        });
    }
    std::string submit_ring(int size) {
        const std::string job = path("job.yaml");
        write_file(job, format("name: gpus\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                               "stages:\n  - {{context: 640, batch: 640, tokens: 640}}\n"
                               "parallel: {{ring: {}}}\nmemory: {{tile: 64}}\nprecision: bf16\n"
                               "resources: {{kind: L40S}}\n",
                               path("text"), size));
        return submit(state_, job);
    }
    std::string metrics() {
        const std::string address =
            Json::parse(read_file(state_ + "/worker-0/worker.json"))["http"];
        return http_get(address, "/metrics");
    }

    const std::string state_ = path("state");
    std::unique_ptr<Process> cluster_;
};

TEST_F(GpuFleet, TenL40sAreShownWithEveryFact) {
    start_with(test::machine_of(10), 10);
    const Json inventory = node()["inventory"];
    ASSERT_EQ(inventory["devices"].size(), 10u);
    const Json& third = inventory["devices"][2];
    EXPECT_EQ(third["kind"], "L40S");
    EXPECT_EQ(third["memoryBytes"], std::int64_t{46068} << 20);
    EXPECT_EQ(third["gpu"]["uuid"], "GPU-00000002-0000-4000-8000-000000000000");
    EXPECT_EQ(third["gpu"]["pci"], "0000:43:00.0");
    EXPECT_EQ(third["gpu"]["compute"], "8.9");
    EXPECT_EQ(third["gpu"]["powerLimitWatts"], 350);
    EXPECT_EQ(third["bf16"]["name"], "bf16 362 TFLOP/s L40S data sheet");
    const Finished wide = here({"nodes", "-o", "wide"});
    EXPECT_NE(wide.out.find("L40S       10"), std::string::npos) << wide.out;
    EXPECT_NE(wide.out.find("570.86.10, CUDA 12.8, NCCL 2.28.3"), std::string::npos) << wide.out;
    EXPECT_EQ(wide.out.find("UNFIT"), std::string::npos) << "all are fit\n" << wide.out;
    const Finished doctor = here({"doctor"});
    EXPECT_NE(doctor.out.find("10 x NVIDIA L40S"), std::string::npos) << doctor.out;
}

TEST_F(GpuFleet, ABadGpuIsNamedEverywhereAndNoJobIsPlacedOnIt) {
    Json machine = test::machine_of(4);
    machine["gpus"][2]["remap_pending"] = true;
    start_with(machine, 4);
    EXPECT_TRUE(becomes_unfit(2, "a row remap is pending; reset it"));
    const std::string fallen = "Xid 79: it has fallen off the bus; reset it or restart the machine";
    machine["gpus"][1]["xids"] = {79};
    show_machine(machine);
    EXPECT_TRUE(becomes_unfit(1, fallen));
    const Finished table = here({"nodes"});
    EXPECT_NE(table.out.find("UNFIT"), std::string::npos) << table.out;
    EXPECT_NE(table.out.find("1: " + fallen + ", 2: a row remap is pending; reset it"),
              std::string::npos)
        << table.out;
    const Finished doctor = here({"doctor"});
    EXPECT_NE(doctor.out.find("GPU 2: a row remap is pending; reset it"), std::string::npos)
        << doctor.out;
    EXPECT_NE(doctor.out.find("2 devices unfit"), std::string::npos) << doctor.out;
    const std::string job = submit_ring(3);
    EXPECT_TRUE(wait_until(Seconds{30}, [&] {
        return here({"explain", job}).out.find("1 unfit (" + fallen + ")") != std::string::npos;
    })) << here({"explain", job}).out;
    const std::string page = metrics();
    for (const char* line :
         {"gpu=\"1\"", "ringmaster_gpu_xid_errors_total{UUID=\"GPU-00000001-",
          "ringmaster_gpu_temperature_celsius", "ringmaster_gpu_energy_joules_total"})
        EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
    here({"cancel", job});
}

TEST_F(GpuFleet, AProcessOfAnotherProgramIsNamedUntilItEnds) {
    Json machine = test::machine_of(2);
    machine["gpus"][0]["processes"] = {{{"pid", 99999999}, {"memory_mib", 12595}}};
    machine["gpus"][0]["used_mib"] = 12600;
    start_with(machine, 2);
    EXPECT_TRUE(becomes_unfit(0, "busy: 12.3 GiB by pid 99999999"));
    const std::string job = submit_ring(2);
    EXPECT_TRUE(wait_until(Seconds{30}, [&] {
        return here({"explain", job}).out.find("1 unfit (busy: 12.3 GiB by pid 99999999)") !=
               std::string::npos;
    })) << here({"explain", job}).out;
    here({"cancel", job});
    machine["gpus"][0]["processes"] = Json::array();
    show_machine(machine);
    EXPECT_TRUE(becomes_unfit(0, ""));
}

TEST_F(GpuFleet, TheirMetricsAreCleanForPromtool) {
    constexpr const char* kPromtool = "/usr/bin/promtool";
    if (!std::filesystem::exists(kPromtool)) GTEST_SKIP() << kPromtool << " is not installed";
    Json machine = test::machine_of(10);
    machine["gpus"][3]["throttle"] = 0x4 | 0x40;
    machine["gpus"][5]["xids"] = {31, 63};
    start_with(machine, 10);
    EXPECT_TRUE(wait_until(Seconds{30}, [&] {
        return metrics().find("ringmaster_gpu_throttle_seconds_total") != std::string::npos;
    }));
    write_file(path("metrics.txt"), metrics());
    const Finished checked =
        run({"/bin/sh", "-c", std::string(kPromtool) + " check metrics < " + path("metrics.txt")});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    EXPECT_EQ(checked.out + checked.err, "");
    EXPECT_NE(metrics().find("reason=\"hw_thermal\""), std::string::npos);
    EXPECT_NE(metrics().find("xid=\"63\""), std::string::npos);
}

TEST_F(GpuFleet, WhatAGpuCannotComputeIsRefusedAtSubmitWithItsKey) {
    start_with(test::machine_of(1), 1);
    const std::string job = path("fp32.yaml");
    write_file(job, format("name: wide\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                           "stages:\n  - {{context: 256, batch: 256, tokens: 256}}\n"
                           "precision: fp32\nresources: {{kind: L40S}}\n",
                           path("text")));
    const Finished refused = here({"submit", job});
    EXPECT_EQ(refused.code, 2) << refused.out << refused.err;
    EXPECT_NE(refused.err.find("precision: fp32; L40S devices compute in bf16"), std::string::npos)
        << refused.err;
}

TEST_F(GpuFleet, ALibraryOfAnotherBuildIsNamedAndOffersCpuSlotsInstead) {
    show_machine(test::machine_of(2));
    place(std::string(RM_STANDINS) + "/libnvidia-ml.so.1", "librm_cuda.so");
    const Finished refused =
        run({program("ringmaster-worker"), "--state", path("w"), "--controller",
             "unix:" + path("nobody.sock"), "--devices", "cuda:all", "--http", "none"});
    EXPECT_EQ(refused.code, 1) << refused.out << refused.err;
    const std::string said = refused.out + refused.err;
    EXPECT_NE(said.find("GPUs cannot be offered: "), std::string::npos) << said;
    EXPECT_NE(said.find("librm_cuda.so is of another build"), std::string::npos) << said;
    EXPECT_NE(said.find("cpu:N offers CPU slots"), std::string::npos) << said;
}

}  // namespace
}  // namespace rm::e2e
