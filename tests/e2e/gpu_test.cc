// Jobs on GPUs that are emulated: the kernels' own bodies, memory closed to the host, NCCL's
// stand-in, through controller, worker, shim and rank.
#include "tests/e2e/support/gpu_machine.h"

namespace rm::e2e {
namespace {

constexpr Seconds kJobLimit{240};

std::string line_after(const std::string& text, const std::string& start) {
    const std::size_t at = text.find(start);
    if (at == std::string::npos) return "";
    return text.substr(at + start.size(), text.find('\n', at) - at - start.size());
}

double last_loss(const Finished& run) {
    const std::string loss = line_after(run.out, "last training loss ");
    return loss.empty() ? 0.0 : std::stod(loss);
}

class GpuMachine : public GpuMachineTest {
protected:
    struct Shape {
        std::string parallel = "{data: 2, ring: 2, tensor: 2, zero: 3}";
        std::string memory = "{tile: 64, offload: on}";
        std::string extra = "";  // more lines
    };
    std::string write_gpu_job(const std::string& name, const std::string& kind,
                              const Shape& shape) {
        const std::string job = path(name + ".yaml");
        write_file(job, format("name: {}\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                               "stages:\n  - {{context: 256, batch: 512, tokens: 1024}}\n"
                               "parallel: {}\nmemory: {}\nevaluate: {{tokens: 512}}\n"
                               "precision: bf16\nresources: {{kind: {}}}\n"
                               "checkpoint: {{dir: {}}}\n{}",
                               name, path("text"), shape.parallel, shape.memory, kind,
                               path(name + "-ckpt"), shape.extra));
        return job;
    }
    // Two workers with `devices` each.
    Finished train(const std::string& name, const std::string& device_kind, int devices,
                   const std::string& job) {
        const Finished run = cli(
            {"up", "--workers", "2", "--devices-per-worker", format("{}", devices), "--device-kind",
             device_kind, "--profile", "off", "--state", path(name), "--job", job},
            kJobLimit);
        EXPECT_EQ(run.code, 0) << run.out << run.err;
        return run;
    }
    Json history_of(const std::string& name) {
        const auto again = up(path(name), {"--workers", "1", "--devices-per-worker", "1"});
        if (!again) return {};
        const Json history = Json::parse(at(path(name), {"history", "-o", "json"}).out);
        stop(*again);
        return history;
    }
    // The tensors of a run's last checkpoint, by file.
    std::map<std::string, std::string> weights_of(const std::string& checkpoints) {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(checkpoints)) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".safetensors")) files[name] = read_file(entry.path().string());
        }
        return files;
    }
};

TEST_F(GpuMachine, EmulatedGpusTrainOverNcclWhatTheCpuTrains) {
    const Finished cpu = train("cpu", "cpu", 4, write_gpu_job("cpu", "cpu", {}));
    const Finished nccl =
        train("nccl", "emu", 4, write_gpu_job("nccl", "emu", {.extra = "network: nccl\n"}));
    EXPECT_NE(nccl.err.find("on 8 devices (data 2 x ring 2 x tensor 2, ZeRO-3)"), std::string::npos)
        << nccl.err;
    EXPECT_NEAR(last_loss(nccl), last_loss(cpu), 1e-3 * last_loss(cpu));
    EXPECT_GT(last_loss(cpu), 1);
    EXPECT_EQ(history_of("nccl")[0]["attempts"][0]["network"], "nccl");
}

// Over gloo sums have one order, whatever moves the bytes: docs/communication.md.
TEST_F(GpuMachine, OverGlooEmulatedGpusTrainTheBitsOfThreads) {
    const Finished gloo = train("gloo", "emu", 4, write_gpu_job("gloo", "emu", {}));
    EXPECT_EQ(history_of("gloo")[0]["attempts"][0]["network"], "gloo");
    write_file(path("threads.json"), format(R"({{"name": "gloo", "model": {{"preset": "micro"}},
                 "data": {{"path": "{}"}}, "seed": 1,
                 "stages": [{{"context": 256, "batch": 512, "tokens": 1024}}],
                 "parallel": {{"data": 2, "ring": 2, "tensor": 2, "zero": 3}},
                 "memory": {{"tile": 64, "offload": "on"}}, "precision": "bf16",
                 "checkpoint": {{"dir": "{}"}}}})",
                                            path("text"), path("threads-ckpt")));
    const Finished threads =
        run({program("ring-train"), path("threads.json"), "--device", "emu"}, kJobLimit);
    ASSERT_EQ(threads.code, 0) << threads.out << threads.err;
    const auto of_cluster = weights_of(path("gloo-ckpt"));
    EXPECT_GE(of_cluster.size(), 8u);
    EXPECT_TRUE(weights_of(path("threads-ckpt")) == of_cluster) << "every byte of every shard";
}

TEST_F(GpuMachine, AJobForL40sRunsOnThemAndStatesTheirPeak) {
    show_machine(test::machine_of(2));
    const Finished run = train(
        "l40s", "cuda", 1,
        write_gpu_job("l40s", "L40S", {.parallel = "{ring: 2}", .extra = "reproducible: on\n"}));
    EXPECT_NE(run.err.find("bf16 362 TFLOP/s L40S data sheet"), std::string::npos) << run.err;
    EXPECT_EQ(history_of("l40s")[0]["attempts"][0]["network"], "nccl");
    const auto again = up(path("l40s"), {"--workers", "1", "--devices-per-worker", "1"});
    ASSERT_TRUE(again);
    const std::string shown = at(path("l40s"), {"show", "l40s"}).out;
    EXPECT_NE(shown.find("nccl 2.28.3 on lo, algorithm Ring, protocol Simple"), std::string::npos)
        << shown;
    stop(*again);
}

TEST_F(GpuMachine, AWorkerMeasuresItsGpusBeforeItJoinsAndTheControllerKeepsTheProfile) {
    show_machine(test::machine_of(2));
    const auto cluster = up(
        path("measured"), {"--workers", "1", "--devices-per-worker", "2", "--device-kind", "cuda"});
    ASSERT_TRUE(cluster);
    const Json node = Json::parse(at(path("measured"), {"nodes", "-o", "json"}).out).at(0);
    ASSERT_TRUE(node.contains("profiles")) << node.dump(1);
    ASSERT_EQ(node["profiles"].size(), 1u) << node.dump(1);
    const Json& profile = node["profiles"][0];
    EXPECT_EQ(profile["kind"], "L40S");
    EXPECT_EQ(profile["driver"], "570.86.10");
    EXPECT_EQ(profile["nodeId"], node["id"]);
    const Json text = Json::parse(profile["text"].get<std::string>());
    EXPECT_EQ(text["compute"], "bf16");
    EXPECT_NE(text["provenance"].get<std::string>().find("driver 570.86.10"), std::string::npos);
    const std::string wide = at(path("measured"), {"nodes", "-o", "wide"}).out;
    EXPECT_NE(wide.find("MEASURED"), std::string::npos) << wide;
    EXPECT_NE(wide.find(" TFLOP/s L40S data sheet  bf16 "), std::string::npos) << wide;
    stop(*cluster);

    const auto again = up(path("measured"),
                          {"--workers", "1", "--devices-per-worker", "2", "--device-kind", "cuda"});
    ASSERT_TRUE(again);
    const Json later = Json::parse(at(path("measured"), {"nodes", "-o", "json"}).out);
    EXPECT_EQ(later[0]["profiles"], node["profiles"]) << "a kept profile is not measured again";
    stop(*again);
}

TEST_F(GpuMachine, ASurveyMeasuresTheGpusOfANodeInAChildOfItsWorker) {
    show_machine(test::machine_of(4));
    const auto cluster = up(path("probed"), {"--workers", "2", "--devices-per-worker", "2",
                                             "--device-kind", "cuda", "--profile", "off"});
    ASSERT_TRUE(cluster);
    const Finished survey = at(path("probed"), {"survey", "--wait"});
    EXPECT_EQ(survey.code, 0) << survey.out << survey.err;
    const Json links = Json::parse(at(path("probed"), {"links", "-o", "json"}).out);
    for (const char* worker : {"worker-0", "worker-1"}) {
        const Json found = Json::parse(read_file(path(format("probed/{}/gpu_probe.json", worker))));
        EXPECT_EQ(found.at("samples").size(), 6u) << "2 devices with the host, and each other";
    }
    // The second worker has the GPUs 2 and 3; which of the two joins first is open.
    Json pairs;
    for (const auto& [name, interior] : links.at("interiors").items()) {
        if (interior.at("devices") == 4) pairs = interior.at("links");
    }
    const auto between = [&](int from, int to) {
        for (const Json& pair : pairs) {
            if (pair["from"] == from && pair["to"] == to) return pair["gbit_per_s"].get<double>();
        }
        return 0.0;
    };
    const double unmeasured = between(0, 1);
    EXPECT_NE(between(2, 3), unmeasured) << links.dump(1);
    EXPECT_NE(between(3, 2), unmeasured);
    EXPECT_GT(between(2, 3), 0);
    stop(*cluster);
}

}  // namespace
}  // namespace rm::e2e
