#include <sys/stat.h>

#include <csignal>

#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

constexpr Seconds kJobLimit{120};
// 100,000 steps: practically endless.
const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

std::string line_after(const std::string& text, const std::string& start) {
    const std::size_t at = text.find(start);
    if (at == std::string::npos) return "";
    return text.substr(at + start.size(), text.find('\n', at) - at - start.size());
}

class Up : public E2eTest {};

TEST_F(Up, ExportsAModelInBf16FromWhichAnotherJobStarts) {
    const std::string exported = path("model");
    const std::string bf16 = "precision: bf16\n";
    const Finished first =
        cli({"up", "--workers", "2", "--state", path("state"), "--job",
             write_job({.extra = bf16 + "export: {huggingface: " + exported + "}\n"})},
            kJobLimit);
    ASSERT_EQ(first.code, 0) << first.out << first.err;
    EXPECT_NE(first.err.find("MFU"), std::string::npos) << first.err;
    EXPECT_NE(first.err.find("its peak is bf16 "), std::string::npos) << first.err;
    EXPECT_TRUE(std::filesystem::exists(exported + "/config.json"));
    EXPECT_TRUE(std::filesystem::exists(exported + "/model.safetensors"));
    // Its checkpoint gives the same model without a cluster.
    const Finished later =
        cli({"export", line_after(first.out, "checkpoint "), path("later")}, kJobLimit);
    ASSERT_EQ(later.code, 0) << later.out << later.err;
    EXPECT_NE(later.out.find("later: 119,232 parameters as BF16 from "), std::string::npos);
    for (const std::string file : {"config.json", "model.safetensors"})
        EXPECT_EQ(read_file(path("later/" + file)), read_file(exported + "/" + file)) << file;
    const Finished second =
        cli({"up", "--workers", "2", "--state", path("state2"), "--job",
             write_job({.name = "more", .model = "{from: " + exported + "}", .extra = bf16})},
            kJobLimit);
    ASSERT_EQ(second.code, 0) << second.out << second.err;
    const auto loss = [](const Finished& run) {
        return std::stod(line_after(run.out, "last training loss "));
    };
    EXPECT_LT(loss(second), loss(first)) << "it goes on where the first ended";
}

// The last loss on eight devices of a kind. The kernels of emulated ones are the GPU's, in memory
// that the host cannot touch.
class UpOnEmulatedGpus : public Up {
protected:
    double loss_on(const std::string& kind, const std::string& precision) {
        const std::string job = path(kind + ".yaml");
        write_file(job, format("name: {}\nmodel: {{preset: micro}}\ndata: {{path: {}}}\n"
                               "stages:\n  - {{context: 256, batch: 512, tokens: 1024}}\n"
                               "parallel: {{data: 2, ring: 2, tensor: 2, zero: 3}}\n"
                               "memory: {{tile: 64, offload: on}}\nevaluate: {{tokens: 512}}\n"
                               "{}\nresources: {{kind: {}}}\n",
                               kind, path("text"), precision, kind));
        const Finished run = cli({"up", "--workers", "2", "--devices-per-worker", "4",
                                  "--device-kind", kind, "--state", path(kind), "--job", job},
                                 kJobLimit);
        EXPECT_EQ(run.code, 0) << run.out << run.err;
        EXPECT_NE(run.err.find("on 8 devices (data 2 x ring 2 x tensor 2, ZeRO-3)"),
                  std::string::npos)
            << run.err;
        const std::string loss = line_after(run.out, "last training loss ");
        return loss.empty() ? 0.0 : std::stod(loss);
    }
    void expect_like_the_cpu(const std::string& precision, double tolerance) {
        const double on_cpu = loss_on("cpu", precision);
        EXPECT_GT(on_cpu, 1);
        EXPECT_NEAR(loss_on("emu", precision), on_cpu, tolerance * on_cpu);
    }
};

TEST_F(UpOnEmulatedGpus, TrainsWhatItTrainsOnTheCpu) {
    expect_like_the_cpu("precision: bf16", 1e-3);
}

TEST_F(UpOnEmulatedGpus, TrainsInFp8WhatItTrainsOnTheCpu) {
    const std::string fp8 =
        "precision: fp8\nfp8: {recipe: delayed, gradients: e4m3, bf16_layers: 0, fallback_steps: "
        "0}";
    expect_like_the_cpu(fp8, 5e-3);
    const auto again = up(path("cpu"), {"--workers", "1", "--devices-per-worker", "1"});
    ASSERT_TRUE(again);
    const std::string shown = at(path("cpu"), {"show", "cpu"}).out;
    EXPECT_NE(shown.find("micro, fp8 (delayed, gradients e4m3, 0 layers at each end in bf16)"),
              std::string::npos)
        << shown;
    stop(*again);
}

TEST_F(UpOnEmulatedGpus, TrainsInBlocksAttendsIn8BitsAndSendsCodesLikeTheCpu) {
    const std::string precision =
        "precision: fp8\nfp8: {recipe: blockwise, gradients: e4m3, bf16_layers: 0, "
        "fallback_steps: 0}\nattention: 8bit\nmessages: {ulysses: fp8, tensor: fp8}";
    expect_like_the_cpu(precision, 1e-2);
}

// Weights that grow by 0.1 a step outgrow what the steps before have shown.
TEST_F(Up, NamesATensorThatFp8DoesNotHoldAndGoesOnInBf16) {
    const auto run = [&](const std::string& name, const std::string& fp8) {
        return cli({"up", "--workers", "2", "--state", path(name), "--job",
                    write_job({.name = name,
                               .model = "{preset: tiny}",
                               .stages = "  - {context: 128, batch: 256, tokens: 1536, "
                                         "learning_rate: 0.1}\n",
                               .extra = "precision: fp8\nfp8: {recipe: delayed" + fp8 + "}\n"})},
                   kJobLimit);
    };
    const Finished saved = run("saved", "");
    EXPECT_EQ(saved.code, 0) << saved.out << saved.err;
    EXPECT_NE(saved.err.find("The layer computes in bf16 until step 10"), std::string::npos)
        << saved.err;
    EXPECT_NE(saved.err.find(" back in bf16"), std::string::npos) << saved.err;
    const Finished ended = run("ended", ", fallback_steps: 0");
    EXPECT_NE(ended.code, 0);
    const std::string said = ended.out + ended.err;
    EXPECT_NE(said.find("FP8 does not hold "), std::string::npos) << said;
    EXPECT_NE(said.find(" of model.layers."), std::string::npos) << said;
    EXPECT_NE(said.find("fp8.max_saturated: 1.0 %"), std::string::npos) << said;
}

TEST_F(Up, RunsAJobToItsEndAndKeepsItsHistory) {
    const std::string state = path("state");
    const Finished run =
        cli({"up", "--workers", "2", "--state", state, "--job", write_job({})}, kJobLimit);
    ASSERT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_NE(run.err.find("step 10/10  loss "), std::string::npos) << run.err;
    EXPECT_NE(run.out.find("(demo) succeeded: 10 steps, 5,120 tokens"), std::string::npos)
        << run.out;
    EXPECT_NE(run.out.find("validation at step 10: "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("unigram"), std::string::npos) << run.out;
    EXPECT_EQ(line_after(run.out, "state "), state);
    const std::string checkpoint = line_after(run.out, "checkpoint ");
    EXPECT_TRUE(std::filesystem::is_directory(checkpoint)) << checkpoint;

    const Finished stopped = at(state, {"history"});
    EXPECT_EQ(stopped.code, 1);
    EXPECT_NE(stopped.err.find("`ringmaster up --state " + state + "`"), std::string::npos)
        << stopped.err;

    const auto again = up(state, {"--workers", "2"});
    ASSERT_TRUE(again);
    const Json history = Json::parse(at(state, {"history", "-o", "json"}).out);
    ASSERT_EQ(history.size(), 1u) << history.dump(2);
    EXPECT_EQ(history[0]["state"], "succeeded");
    EXPECT_EQ(history[0]["attempts"].size(), 1u);
    EXPECT_EQ(history[0]["lastStep"]["step"], 10);
    const Finished table = at(state, {"history", "--name", "demo", "--state", "succeeded"});
    EXPECT_EQ(count(table.out, "\n"), 2u) << table.out;
    EXPECT_EQ(count(at(state, {"history", "--state", "failed"}).out, "\n"), 1u);
    stop(*again);
}

TEST_F(Up, RunsTwoStagesOneAfterTheOther) {
    const std::string stages =
        "  - {context: 128, batch: 256, tokens: 1024, rope_theta: 1e4, learning_rate: 2e-3}\n"
        "  - {context: 256, batch: 512, tokens: 1536, rope_theta: 4e4, learning_rate: 1e-3}\n";
    const std::string state = path("state");
    const Finished run = cli({"up", "--workers", "2", "--state", state, "--job",
                              write_job({.name = "two", .stages = stages})},
                             kJobLimit);
    ASSERT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_NE(run.out.find("(two) succeeded: 7 steps, 2,560 tokens"), std::string::npos) << run.out;
    const auto again = up(state, {"--workers", "2"});
    ASSERT_TRUE(again);
    const Json history = Json::parse(at(state, {"history", "-o", "json"}).out);
    EXPECT_EQ(history[0]["attempts"][0]["stagesDone"], 2);
    stop(*again);
}

TEST_F(Up, StopsAJobWithACheckpointOnCtrlC) {
    const std::string state = path("state");
    const auto run = start({program("ringmaster"), "up", "--workers", "2", "--state", state,
                            "--job", write_job({.stages = kEndless})});
    ASSERT_TRUE(wait_until(Seconds{90}, [&] { return last_step_shown(*run) >= 3; })) << run->err();
    run->signal(SIGINT);
    EXPECT_EQ(run->wait(Seconds{60}), 130) << run->out() << run->err();
    EXPECT_NE(run->out().find("(demo) cancelled: "), std::string::npos) << run->out();
    const std::string checkpoint = line_after(run->out(), "checkpoint ");
    EXPECT_TRUE(std::filesystem::is_directory(checkpoint)) << run->out();
}

TEST_F(Up, LeavesNoProcessBehindWhenItIsKilled) {
    const std::string state = path("state");
    const auto run = start({program("ringmaster"), "up", "--workers", "2", "--state", state,
                            "--job", write_job({.stages = kEndless})});
    ASSERT_TRUE(wait_until(Seconds{90}, [&] { return last_step_shown(*run) >= 2; })) << run->err();
    // up, controller, 2 workers, 2 shims, 2 ranks
    EXPECT_EQ(processes_marked(marker()).size(), 8u);
    run->signal(SIGKILL);
    run->wait(Seconds{5});
    EXPECT_TRUE(wait_until(Seconds{60}, [&] { return processes_marked(marker()).empty(); }))
        << processes_marked(marker()).size() << " processes are left";

    const Finished stopped = at(state, {"ls"});
    EXPECT_EQ(stopped.code, 1);
    EXPECT_NE(stopped.err.find("is not running"), std::string::npos) << stopped.err;
}

TEST_F(Up, StopsAtOnceOnASecondCtrlC) {
    const auto run = start({program("ringmaster"), "up", "--workers", "2", "--state", path("state"),
                            "--job", write_job({.stages = kEndless})});
    ASSERT_TRUE(wait_until(Seconds{90}, [&] { return last_step_shown(*run) >= 2; })) << run->err();
    run->signal(SIGINT);
    run->signal(SIGINT);
    EXPECT_EQ(run->wait(Seconds{30}), 130) << run->out() << run->err();
}

TEST_F(Up, SaysWhichDaemonDiedAndStopsTheRest) {
    const std::string state = path("state");
    const auto run = start({program("ringmaster"), "up", "--workers", "2", "--state", state,
                            "--job", write_job({.stages = kEndless})});
    ASSERT_TRUE(wait_until(Seconds{90}, [&] { return last_step_shown(*run) >= 2; })) << run->err();
    const Json file = Json::parse(read_file(state + "/ringmaster.json"));
    ASSERT_EQ(file["daemons"][1]["name"], "worker-0");
    kill(file["daemons"][1]["pid"], SIGKILL);
    EXPECT_EQ(run->wait(Seconds{60}), 1) << run->out() << run->err();
    EXPECT_NE(run->err().find("worker-0 ended with signal 9"), std::string::npos) << run->err();
    // The killed worker's shim stops its rank when no daemon has come back for 20 s.
    EXPECT_TRUE(wait_until(Seconds{60}, [&] { return processes_marked(marker()).empty(); }));
}

TEST_F(Up, RefusesAStateDirectoryInUse) {
    const std::string state = path("state");
    const auto first = up(state, {"--workers", "1"});
    ASSERT_TRUE(first);
    const Finished second = cli({"up", "--state", state});
    EXPECT_EQ(second.code, 4) << second.err;
    EXPECT_NE(second.err.find(std::to_string(first->pid())), std::string::npos) << second.err;
    EXPECT_EQ(at(state, {"nodes"}).code, 0);
    stop(*first);
}

TEST_F(Up, WorksInADirectoryWithANameTooLongForASocket) {
    const std::string state = path(std::string(120, 'x'));
    const Finished run =
        cli({"up", "--workers", "2", "--state", state, "--job", write_job({})}, kJobLimit);
    EXPECT_EQ(run.code, 0) << run.out << run.err;
}

TEST_F(Up, ListensWhereItIsToldAndSaysWhere) {
    const auto cluster = up(path("state"), {"--workers", "2", "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(cluster);
    const std::string grpc = line_after(cluster->out(), "grpc ");
    const Finished nodes = cli({"--address", grpc, "nodes", "-o", "json"});
    ASSERT_EQ(nodes.code, 0) << nodes.err;
    EXPECT_EQ(Json::parse(nodes.out).size(), 2u);
    const std::string metrics = line_after(cluster->out(), "http://");
    const std::string host_port = metrics.substr(0, metrics.find('/'));
    EXPECT_NE(http_get(host_port, "/metrics").find("ringmaster_nodes"), std::string::npos);
    stop(*cluster);
}

TEST_F(Up, ListensNowhereUnlessTold) {
    const std::string state = path("state");
    const auto cluster = up(state, {"--workers", "1"});
    ASSERT_TRUE(cluster);
    EXPECT_EQ(cluster->out(), "");
    const Json file = Json::parse(read_file(state + "/ringmaster.json"));
    EXPECT_EQ(file["grpc"].size(), 0u);
    for (const Json& daemon : file["daemons"])
        EXPECT_EQ(daemon["http"], "");
    struct stat directory {};
    ASSERT_EQ(::stat(state.c_str(), &directory), 0);
    EXPECT_EQ(directory.st_mode & 0777, 0700u);
    stop(*cluster);
}

}  // namespace
}  // namespace rm::e2e
