// Failures on GPUs (NCCL's faults, a device that leaves, a device that is taken): the message, its
// class, and what happens next.
#include <numeric>
#include <sstream>

#include "tests/e2e/support/gpu_machine.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

class GpuFaults : public GpuMachineTest {
protected:
    void TearDown() override {
        if (cluster_) stop(*cluster_);
        GpuMachineTest::TearDown();
    }
    void start_with(const std::string& kind, int count, const std::string& profile = "off") {
        cluster_ = up(state_, {"--workers", "1", "--devices-per-worker", format("{}", count),
                               "--device-kind", kind, "--profile", profile});
        ASSERT_TRUE(cluster_);
    }
    // A job on a ring of `size`; `extra`: more lines.
    std::string submit_ring(int size, const std::string& extra) {
        const std::string job = path(format("ring{}.yaml", size));
        write_file(
            job, format("name: ring{}\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                        "stages:\n  - {{context: {}, batch: {}, tokens: {}}}\n"
                        "parallel: {{ring: {}}}\nprecision: bf16\n{}",
                        size, path("text"), 64 * size, 64 * size, 64 * size * 100000, size, extra));
        return submit(state_, job);
    }
    Json first_attempt(const std::string& job) { return show(state_, job)["attempts"][0]; }
    std::string cause(const std::string& job) { return first_attempt(job).value("cause", ""); }
    std::string kind_of_failure(const std::string& job) {
        return first_attempt(job).value("failureClass", "");
    }
    bool ends_first_attempt(const std::string& job, Seconds limit) {
        return wait_until(limit, [&] {
            const Json shown = show(state_, job);
            if (!shown.is_object() || shown.value("attempts", Json::array()).empty()) return false;
            return !shown["attempts"][0].value("failureClass", "").empty();
        });
    }

    const std::string state_ = path("state");
    std::unique_ptr<Process> cluster_;
};

// Three jobs at once. A rank that waits for one that never comes is seen as a stall after 15 s,
// before the limit of the collective, a minute, which connecting has, too.
TEST_F(GpuFaults, EachFaultOfNcclEndsItsAttemptAndNamesTheCollective) {
    write_file(path("nccl.json"), R"({"faults": [
        {"size": 2, "rank": 1, "after": 50, "what": "absent"},
        {"size": 3, "rank": 2, "after": 40, "what": "error"},
        {"size": 4, "rank": 1, "what": "unconnected"}]})");
    ::setenv("RM_STANDIN_NCCL", path("nccl.json").c_str(), 1);
    start_with("emu", 9);
    const std::string end = "memory: {tile: 64}\nnetwork: nccl\nretry: {max: 0}\n";
    const std::string absent = submit_ring(2, end);
    const std::string error = submit_ring(3, end);
    const std::string unconnected = submit_ring(4, end);
    ASSERT_TRUE(ends_first_attempt(error, Seconds{60}));
    EXPECT_EQ(kind_of_failure(error), "rank");
    EXPECT_NE(cause(error).find("NCCL fails among ranks 0 and 1"), std::string::npos)
        << cause(error);
    ASSERT_TRUE(ends_first_attempt(unconnected, Seconds{100}));
    EXPECT_NE(cause(unconnected).find("NCCL has not connected to ranks "), std::string::npos)
        << cause(unconnected);
    EXPECT_NE(cause(unconnected).find("(ring) within 1m00s"), std::string::npos)
        << cause(unconnected);
    ASSERT_TRUE(ends_first_attempt(absent, Seconds{60}));
    EXPECT_EQ(kind_of_failure(absent), "stall");
    EXPECT_NE(cause(absent).find("is stuck in ring ring_shift"), std::string::npos)
        << cause(absent);
    for (const std::string& job : {error, unconnected}) {
        const Finished explained = at(state_, {"explain", job});
        EXPECT_NE(explained.out.find(", host worker-0)"), std::string::npos) << explained.out;
    }
}

TEST_F(GpuFaults, AGpuThatLeavesDuringARunEndsItsAttemptAndTheNextGoesElsewhere) {
    Json machine = test::machine_of(3);
    show_machine(machine);
    start_with("cuda", 3);
    const std::string job = submit_ring(2, "memory: {tile: 64}\nresources: {kind: L40S}\n");
    ASSERT_TRUE(wait_for_step(state_, job, 1, Seconds{120}));
    machine["gpus"][1]["lost"] = true;
    show_machine(machine);
    ASSERT_TRUE(ends_first_attempt(job, Seconds{60}));
    EXPECT_EQ(kind_of_failure(job), "device_fault");
    EXPECT_NE(cause(job).find("is lost: lost: it answers no more; restart the machine"),
              std::string::npos)
        << cause(job);
    ASSERT_TRUE(wait_until(Seconds{90}, [&] { return show(state_, job)["attempts"].size() == 2; }))
        << at(state_, {"explain", job}).out;
    for (const Json& placed : show(state_, job)["attempts"][1]["placement"])
        EXPECT_NE(placed["device"], 1) << placed.dump();
    at(state_, {"cancel", "--now", job});
}

TEST_F(GpuFaults, ATakenDeviceIsRefusedBeforeTheRanksMeet) {
    Json machine = test::machine_of(3);
    show_machine(machine);
    start_with("cuda", 3);
    // Memory of a process that is not visible: the worker's watch does not judge it, a rank does.
    machine["gpus"][0]["used_mib"] = 20480;
    show_machine(machine);
    const std::string job = submit_ring(2, "memory: {tile: 64}\nresources: {kind: L40S}\n");
    ASSERT_TRUE(ends_first_attempt(job, Seconds{60}));
    EXPECT_EQ(kind_of_failure(job), "device_fault");
    EXPECT_EQ(cause(job),
              "rank 0: device busy: 20.0 GiB by processes that cannot be seen from here");
    EXPECT_TRUE(wait_for_step(state_, job, 1, Seconds{120})) << at(state_, {"explain", job}).out;
    at(state_, {"cancel", "--now", job});
}

// The profile that its worker has measured is made a thousand times as fast.
TEST_F(GpuFaults, ASlowDeviceIsNamedWithItsTimeAndThatOfItsKind) {
    show_machine(test::machine_of(1));
    start_with("cuda", 1, "auto");
    stop(*cluster_);
    const std::filesystem::path folder = state_ + "/worker-0/profiles";
    ASSERT_TRUE(std::filesystem::exists(folder));
    std::string file;  // its log lies beside it
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") file = entry.path().string();
    }
    Json profile = Json::parse(read_file(file));
    for (Json& op : profile["ops"]) {
        if (op["op"] != "linear_fwd") continue;
        op["overhead_sec"] = 0.0;
        for (Json& point : op["points"])
            point[1] = point[1].get<double>() * 1000;
    }
    write_file(file, profile.dump());
    start_with("cuda", 1);
    const std::string job =
        submit_ring(1, "memory: {tile: 64}\nresources: {kind: L40S}\nretry: {max: 0}\n");
    ASSERT_TRUE(ends_first_attempt(job, Seconds{60}));
    EXPECT_EQ(kind_of_failure(job), "device_fault");
    EXPECT_NE(cause(job).find("rank 0: device slow: a product of "), std::string::npos)
        << cause(job);
    EXPECT_NE(cause(job).find(" on a device of its kind"), std::string::npos) << cause(job);
}

// Ten GPUs of one node whose worker may give ranks `memory` of the host.
class HostBudget : public GpuFaults {
protected:
    void start_ten(const std::string& memory) {
        show_machine(test::machine_of(10));
        controller_ = start({program("ringmaster-controller"), "--state", path("c"), "--listen",
                             address_, "--http", "none"});
        ASSERT_TRUE(wait_until(Seconds{30}, [&] { return there({"ls"}).code == 0; }));
        worker_ = start({program("ringmaster-worker"), "--state", path("w"), "--controller",
                         address_, "--http", "127.0.0.1:0", "--ports", "0", "--orphan", "stop",
                         "--memory", memory, "--profile", "off"});
    }
    void TearDown() override {
        for (Process* process : {worker_.get(), controller_.get()}) {
            if (process == nullptr) continue;
            process->signal(SIGTERM);
            process->wait(Seconds{60});
        }
        GpuFaults::TearDown();
    }
    Finished there(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", address_});
        return cli(std::move(arguments), Seconds{120});
    }
    // Ten ranks that move what they keep to the host.
    std::string ring_of_ten() {
        const std::string job = path("ten.yaml");
        write_file(job,
                   format("name: ten\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                          "stages:\n  - {{context: 640, batch: 640, tokens: 1280}}\n"
                          "parallel: {{ring: 10, zero: 3}}\nprecision: bf16\n"
                          "memory: {{tile: 64, chunk: 4096, keep: input+attention, alpha: 1, "
                          "offload: on, windows: off, keep_every: 1}}\nresources: {{kind: L40S}}\n",
                          path("text")));
        return job;
    }
    // Bytes of the host that each rank says it holds.
    std::vector<double> held() {
        const Json worker = Json::parse(read_file(path("w/worker.json")));
        std::map<std::string, double> by_rank;
        std::istringstream page(http_get(worker["http"], "/metrics"));
        for (std::string line; std::getline(page, line);) {
            if (!line.starts_with("ringmaster_host_memory_bytes{")) continue;
            const std::size_t at = line.find("rank=");
            by_rank[line.substr(at, line.find('"', at + 6) - at)] +=
                std::stod(line.substr(line.rfind(' ')));
        }
        std::vector<double> bytes;
        for (const auto& [rank, held] : by_rank)
            bytes.push_back(held);
        return bytes;
    }

    const std::string address_ = "unix:" + path("c.sock");
    std::unique_ptr<Process> controller_;
    std::unique_ptr<Process> worker_;
};

TEST_F(HostBudget, TenRanksOfANodeStayTogetherWithinIt) {
    constexpr double kBudget = 2 << 20;
    start_ten("2MiB");
    const Finished run = there({"submit", ring_of_ten(), "--follow"});
    ASSERT_EQ(run.code, 0) << run.out << run.err;
    const std::vector<double> bytes = held();
    EXPECT_EQ(bytes.size(), 10u) << "none was refused";
    const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    EXPECT_LE(sum, kBudget);
    EXPECT_GT(sum, kBudget / 2) << "the budget is nearly used";
}

TEST_F(HostBudget, AJobWhoseRanksNeedMoreIsRefusedAtSubmitWithBothFigures) {
    start_ten("1600KiB");
    ASSERT_TRUE(wait_until(
        Seconds{30}, [&] { return there({"nodes"}).out.find("ready") != std::string::npos; }));
    const Finished run = there({"submit", ring_of_ten()});
    EXPECT_EQ(run.code, 4) << run.out << run.err;
    EXPECT_NE(run.err.find("of the host, 8.0 KiB more than 160.0 KiB"), std::string::npos)
        << run.err;
    EXPECT_EQ(there({"ls", "-o", "json"}).out.find("ten"), std::string::npos);
}

}  // namespace
}  // namespace rm::e2e
