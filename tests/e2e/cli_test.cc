#include <algorithm>

#include "tests/e2e/support/e2e_test.h"

// The verbs that diagnose failures, against real daemons.
namespace rm::e2e {
namespace {

const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";

const std::string kExam =
    "{tokens: 4K, suites: [{name: near, lengths: [128, 0.25K], depths: 3, samples: 1}], "
    "prompts: [{prompt: 'The ', tokens: 8}]}";

class Cli : public LocalClusterTest {
protected:
    std::string endless() { return submit(state_, write_job({.stages = kEndless})); }
    // The findings of a kind, each "subject: text -> remedy".
    std::string findings(const std::string& id, const std::string& kind) {
        const Finished explained = here({"explain", id, "-o", "json"});
        EXPECT_EQ(explained.code, 0) << explained.err;
        std::string text;
        const Json reply = Json::parse(explained.out);
        for (const Json& finding : reply["findings"]) {
            if (finding["kind"] != kind) continue;
            text += finding["subject"].get<std::string>() + ": " +
                    finding["text"].get<std::string>() + " -> " +
                    finding["remedy"].get<std::string>() + "\n";
        }
        return text;
    }
    Json expect_use(const std::string& id);
    void expect_evaluation(const std::string& id, const Json& cells);
    void expect_difference(const std::string& one, const std::string& other);
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
};

// The newest checkpoint of a job and its export at path("model") say the same. Returns how it did
// with needles.
Json Cli::expect_use(const std::string& id) {
    const auto sampled = [&](const std::string& model) {
        const Finished done = here({"sample", model, "--prompt", "The ", "-n", "40", "-o", "json"});
        EXPECT_EQ(done.code, 0) << done.err;
        return Json::parse(done.out);
    };
    const Json job = sampled(id), model = sampled(path("model"));
    EXPECT_EQ(job["promptTokens"], 4);
    EXPECT_EQ(job["tokens"].size(), 40u);
    EXPECT_EQ(job["tokens"], model["tokens"]);
    EXPECT_EQ(here({"sample", id, "--prompt", ""}).code, 2);
    EXPECT_EQ(here({"sample", path("nothing"), "--prompt", "x"}).code, 3);

    const std::vector<std::string> eval = {"eval",      id,      "--lengths", "128",
                                           "--lengths", "0.25K", "--depths",  "3",
                                           "--samples", "1",     "-o",        "json"};
    const Finished done = here(eval);
    EXPECT_EQ(done.code, 0) << done.err;
    const Json cells = Json::parse(done.out)["cells"];
    EXPECT_EQ(cells.size(), 6u);
    EXPECT_EQ(cells[5]["length"], 256);
    EXPECT_EQ(cells[5]["depth"], 1);
    EXPECT_EQ(cells[5]["score"], 0) << "it has learned nothing yet";
    EXPECT_GT(cells[5]["loss"], 1);
    EXPECT_TRUE(has(here({"eval", id, "--lengths", "64"}).err, "a text of 64 tokens has no room"));
    return cells;
}

// A job without steps evaluates it, and examines it as expect_use() has.
void Cli::expect_evaluation(const std::string& id, const Json& cells) {
    const std::string newest = show(state_, id)["attempts"][0]["lastCheckpointPath"];
    const std::string exam =
        submit(state_, write_job({.name = "exam",
                                  .stages = "  - {context: 512, batch: 512, tokens: 0}\n",
                                  .parallel = "{ring: 2}",
                                  .extra = "checkpoint: {from: " + newest + "}\n",
                                  .evaluate = kExam},
                                 "exam.yaml"));
    ASSERT_TRUE(wait_for_state(state_, exam, "succeeded")) << here({"explain", exam}).out;
    const Json job = show(state_, exam);
    EXPECT_GT(job["lastEvaluation"]["loss"], 1);
    EXPECT_EQ(job["lastEvaluation"]["targets"], 7 * 512) << "of 4K tokens at most";
    EXPECT_EQ(job["lastEvaluation"]["byPosition"].size(), 6u);
    EXPECT_TRUE(has(here({"show", exam}).out, "held-out loss by the tokens before the target"));
    EXPECT_TRUE(has(here({"logs", exam}).out, "evaluates " + newest));
    // The texts that `ringmaster eval` makes, on two ranks.
    const Json& suite = job["lastSuites"][0];
    EXPECT_EQ(suite["name"], "near");
    EXPECT_EQ(suite["trainedContext"], 256);
    ASSERT_EQ(suite["cells"].size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        EXPECT_EQ(suite["cells"][i]["length"], cells[i]["length"]);
        EXPECT_NEAR(suite["cells"][i]["loss"].get<double>(), cells[i]["loss"].get<double>(), 1e-4);
    }
    EXPECT_TRUE(has(here({"show", exam}).out, "near at step 0")) << here({"show", exam}).out;
    EXPECT_TRUE(has(here({"logs", exam}).out, "near at step 0: 0.0% right at 128 tokens, "));
    EXPECT_TRUE(has(here({"logs", exam}).out, "step 0 continues \"The \" with \""));
}

// The settings that differ, as --set takes them, and all results.
void Cli::expect_difference(const std::string& one, const std::string& other) {
    const Finished compared = here({"diff", one, other, "-o", "json"});
    ASSERT_EQ(compared.code, 0) << compared.err;
    const Json found = Json::parse(compared.out);
    EXPECT_EQ(found["settings"]["name"], Json({"one", "two"}));
    EXPECT_EQ(found["settings"]["tags.0"], Json({nullptr, "sweep"}));
    EXPECT_EQ(found["settings"]["stages.0.tokens"], Json({5120, 51200000}));
    EXPECT_EQ(found["settings"]["stages.0.learning_rate"], Json({2e-3, 1e-3}));
    EXPECT_FALSE(found["settings"].contains("stages.0.context")) << "is the same";
    EXPECT_EQ(found["results"]["state"], Json({"succeeded", "cancelled"}));
    EXPECT_EQ(found["results"]["step"][0], 10);
    EXPECT_GT(found["results"]["heldOutLoss"][0], 1);
    const std::string table = here({"diff", one, other}).out;
    EXPECT_TRUE(has(table, "stages.0.learning_rate")) << table;
    EXPECT_TRUE(has(table, "SETTING") && has(table, "RESULT")) << table;
    EXPECT_TRUE(has(here({"diff", one, one}).out, "the same settings"));
    EXPECT_EQ(here({"diff", one, "zzzzzz"}).code, 3);
}

TEST_F(Cli, ContinueGoesOnFromTheCheckpointOfACancelledJob) {
    const std::string id = endless();
    ASSERT_TRUE(wait_for_step(state_, id, 3));
    const Finished early = here({"continue", id});
    EXPECT_EQ(early.code, 4) << early.err;
    EXPECT_TRUE(has(here({"export", id, path("model")}).err, "job " + id + " has no checkpoint"));
    EXPECT_TRUE(has(early.err, "`ringmaster cancel " + id + "` ends it with a checkpoint"))
        << early.err;
    EXPECT_EQ(here({"cancel", id}).code, 0);
    ASSERT_TRUE(wait_for_state(state_, id, "cancelled"));
    EXPECT_TRUE(has(here({"explain", id}).out, "`ringmaster continue " + id + "`"));
    const Finished exported = here({"export", id, path("model")});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_TRUE(has(exported.out, "parameters as F32 from ")) << exported.out;
    EXPECT_TRUE(std::filesystem::exists(path("model/model.safetensors")));
    EXPECT_EQ(here({"export", path("nothing"), path("model")}).code, 3);
    expect_evaluation(id, expect_use(id));

    const Finished next = here({"continue", id});
    ASSERT_EQ(next.code, 0) << next.err;
    const std::string next_id = next.out.substr(0, next.out.find('\n'));
    const Json job = show(state_, next_id);
    EXPECT_EQ(job["continues"], id);
    const std::string newest = show(state_, id)["attempts"][0]["lastCheckpointPath"];
    EXPECT_EQ(job["spec"]["checkpoint"]["from"], newest.substr(0, newest.rfind('/')));
    EXPECT_TRUE(has(here({"show", next_id}).out, "continues   job " + id)) << next.err;
    EXPECT_EQ(here({"cancel", next_id, "--now"}).code, 0);
}

TEST_F(Cli, SubmitTakesACheckpointToBeginFrom) {
    const std::string file = write_job({.stages = kEndless});
    const Finished missing = here({"submit", file, "--from", "ckpt"});
    EXPECT_EQ(missing.code, 2);
    EXPECT_TRUE(has(missing.err, "/ckpt does not exist on this machine")) << missing.err;
    std::filesystem::create_directory(path("ckpt"));
    const std::string relative = std::filesystem::relative(path("ckpt")).string();
    const Finished submitted = here({"submit", file, "--from", relative, "-o", "json"});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const Json job = Json::parse(submitted.out);
    const std::string from = job["spec"]["checkpoint"]["from"];
    EXPECT_EQ(from.front(), '/') << "workers know no working directory";
    EXPECT_TRUE(has(from, "/ckpt")) << from;
    here({"cancel", job["id"], "--now"});
}

TEST_F(Cli, ExplainSaysWhyAJobWaitsAndHowARunningOneIs) {
    const std::string id = endless();
    ASSERT_TRUE(wait_for_step(state_, id, 1));
    ASSERT_TRUE(wait_until(Seconds{30}, [&] {
        return has(findings(id, "info"), "all 2 ranks training, on 2 nodes");
    })) << findings(id, "info");
    const std::string waiting = endless();
    ASSERT_TRUE(wait_until(Seconds{30}, [&] {
        return has(findings(waiting, "blocking"), "devices: needs 2 cpu devices");
    })) << findings(waiting, "blocking");
    EXPECT_TRUE(has(here({"explain", waiting}).out, "pending    devices"))
        << here({"explain", waiting}).out;
    EXPECT_EQ(here({"cancel", waiting}).code, 0);
    EXPECT_EQ(here({"cancel", id, "--now"}).code, 0);
    EXPECT_EQ(here({"explain", "zzzzzz"}).code, 3);
}

TEST_F(Cli, TopShowsEveryRankOnceOrAgainAndAgain) {
    EXPECT_TRUE(has(here({"top"}).out, "no rank is running"));
    const std::string id = endless();
    ASSERT_TRUE(wait_for_step(state_, id, 3));
    const Finished once = here({"top", id});
    EXPECT_EQ(once.code, 0) << once.err;
    EXPECT_TRUE(has(once.out, "JOB     RANK  NODE")) << once.out;
    EXPECT_EQ(here({"top", "-o", "name"}).out, id + "/0\n" + id + "/1\n");
    EXPECT_TRUE(has(here({"top", "--nodes"}).out, "NODE      HOSTNAME")) << once.out;
    const Json top = Json::parse(here({"top", id, "-o", "json"}).out);
    const Json& rank = top["jobs"][0]["ranks"][1];
    EXPECT_GT(rank["stepSeconds"], 0);
    EXPECT_LT(rank["waitSeconds"], rank["stepSeconds"]);
    EXPECT_GT(rank["deviceBytes"], 0);

    const Finished live =
        on_terminal(state_, {"top", id, "--interval", "0.2"}, {{"RANK.*RANK", "q"}});
    EXPECT_EQ(live.code, 0) << live.out << live.err;
    EXPECT_TRUE(live.out.starts_with("\x1b[?1049h")) << live.out;
    EXPECT_TRUE(live.out.ends_with("\x1b[?1049l")) << "the page of before is there again";
    EXPECT_EQ(here({"cancel", id, "--now"}).code, 0);
    EXPECT_EQ(here({"top", "zzzzzz"}).code, 3);
}

class Manual : public E2eTest {};

TEST_F(Manual, IsWrittenWithThePagesOfTheDaemons) {
    const std::string pages = path("man");
    const Finished written = cli({"man", pages});
    ASSERT_EQ(written.code, 0) << written.err;
    for (const char* name : {"ringmaster.1", "ringmaster-top.1", "ringmaster-job.5"})
        EXPECT_TRUE(std::filesystem::exists(pages + "/" + name)) << name;
    for (const char* daemon : {"ringmaster-controller.8", "ringmaster-worker.8"}) {
        const std::string page = read_file(pages + "/" + daemon);
        EXPECT_NE(page.find(".B \"\\-\\-state DIR\""), std::string::npos) << page;
        const Finished shown =
            run({"/usr/bin/env", "groff", "-man", "-Tascii", "-ww", "-z", pages + "/" + daemon});
        EXPECT_EQ(shown.code, 0) << shown.err;
        EXPECT_EQ(shown.err, "");
    }
    EXPECT_TRUE(cli({"man"}).out.starts_with(".TH \"RINGMASTER\" 1")) << "without a directory";
}

TEST_F(Cli, ADrainedNodeIsShownAndTakenBack) {
    const Json nodes = Json::parse(here({"nodes", "-o", "json"}).out);
    const std::string node = nodes[0]["id"];
    const Finished drained = here({"drain", node.substr(0, 8), "--reason", "a new disk"});
    EXPECT_EQ(drained.code, 0) << drained.err;
    EXPECT_EQ(drained.out, node + "\n");
    EXPECT_TRUE(has(here({"nodes"}).out, " drained ")) << here({"nodes"}).out;
    EXPECT_TRUE(has(here({"nodes", "-o", "wide"}).out, "a new disk"));

    const std::string id = endless();
    EXPECT_TRUE(wait_until(Seconds{30}, [&] {
        return has(findings(id, "blocking"),
                   "the node is drained (a new disk) -> `ringmaster resume " + node + "`");
    })) << findings(id, "blocking");
    EXPECT_EQ(here({"resume", node}).code, 0);
    EXPECT_TRUE(wait_for_step(state_, id, 1)) << "it starts once the node is back";
    EXPECT_EQ(here({"cancel", id, "--now"}).code, 0);

    EXPECT_EQ(here({"drain", "zzz"}).code, 3);
    EXPECT_EQ(here({"resume", "zzz"}).code, 3);
    EXPECT_EQ(here({"drain", node, "--gone", "--keep-running"}).code, 2);
}

TEST_F(Cli, HistoryFiltersSortsAndSums) {
    const std::string done = submit(state_, write_job({.name = "one"}));
    ASSERT_TRUE(wait_for_state(state_, done, "succeeded"));
    const std::string stopped =
        submit(state_, write_job({.name = "two",
                                  .stages = kEndless,
                                  .extra = "tags: [sweep, long]\nnote: how far it gets\n"}));
    EXPECT_EQ(here({"cancel", stopped, "--now"}).code, 0);
    ASSERT_TRUE(wait_for_state(state_, stopped, "cancelled"));
    const auto named = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"history", "-o", "name"});
        return here(more).out;
    };
    EXPECT_EQ(named({}), stopped + "\n" + done + "\n") << "the newest first";
    EXPECT_EQ(named({"--reverse"}), done + "\n" + stopped + "\n");
    EXPECT_EQ(named({"--sort", "name"}), done + "\n" + stopped + "\n");
    EXPECT_EQ(named({"--state", "succeeded"}), done + "\n");
    EXPECT_EQ(named({"--model", "micro", "--name", "two"}), stopped + "\n");
    EXPECT_EQ(named({"--model", "tiny"}), "");
    EXPECT_EQ(named({"--tag", "long"}), stopped + "\n");
    EXPECT_EQ(named({"--tag", "lon"}), "");
    EXPECT_TRUE(has(here({"show", stopped}).out, "note        how far it gets"));
    expect_difference(done, stopped);
    EXPECT_EQ(named({"--user", "nobody-here"}), "");
    EXPECT_EQ(named({"--group-by", "state"}), "cancelled\nsucceeded\n");
    const Json groups = Json::parse(here({"history", "--group-by", "model", "-o", "json"}).out);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0]["jobs"], 2);
    EXPECT_EQ(groups[0]["succeeded"], 1);
    EXPECT_EQ(here({"history", "--sort", "colour"}).code, 2);
    EXPECT_EQ(here({"history", "--state", "colour"}).code, 2);
}

TEST_F(Cli, DoctorLooksAtTheMachineAndTheController) {
    const Finished checked = here({"doctor", "-o", "json"});
    const Json checks = Json::parse(checked.out);
    const auto check = [&](const std::string& name) {
        const auto found = std::find_if(checks.begin(), checks.end(),
                                        [&](const Json& one) { return one["check"] == name; });
        return found == checks.end() ? Json() : *found;
    };
    EXPECT_EQ(check("controller")["verdict"], "ok") << checks.dump(2);
    EXPECT_TRUE(has(check("controller")["text"], "2 nodes"));
    EXPECT_EQ(check("clock")["verdict"], "ok") << checks.dump(2);
    EXPECT_EQ(check("programs")["verdict"], "ok");
    const bool fails = std::any_of(checks.begin(), checks.end(),
                                   [](const Json& one) { return one["verdict"] == "fail"; });
    EXPECT_EQ(checked.code, fails ? 1 : 0);
    const Finished lost = cli({"--address", "unix:" + path("nobody"), "doctor"});
    EXPECT_EQ(lost.code, 1) << lost.out;
    EXPECT_TRUE(has(lost.out, "fail  controller")) << lost.out;
    EXPECT_EQ(lost.err, "") << "tries are not told";
}

}  // namespace
}  // namespace rm::e2e
