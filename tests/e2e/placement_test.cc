#include "tests/e2e/support/e2e_test.h"

// `ringmaster placement` of jobs on clusters of real workers.
namespace rm::e2e {
namespace {

// Practically endless.
const std::string kEndless =
    "  - {context: 768, batch: 768, tokens: 768000000, learning_rate: 1e-3}\n";

class Placement : public E2eTest {
protected:
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
    void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
        for (const std::string& part : parts)
            EXPECT_TRUE(has(text, part)) << part << "\n" << text;
    }
};

TEST_F(Placement, OfAJobOnASurveyedClusterShowsItsRingAndWhatItCosts) {
    const std::string state = path("state");
    const auto cluster = up(state, {"--workers", "4"});
    ASSERT_TRUE(cluster);
    const Finished survey = at(state, {"survey", "--wait"});
    ASSERT_EQ(survey.code, 0) << survey.err;
    const std::string job = submit(state, write_job({.stages = kEndless, .parallel = "{ring: 3}"}));
    ASSERT_TRUE(wait_for_state(state, job, "running"));

    const Finished text = at(state, {"placement", job.substr(0, 5)});
    ASSERT_EQ(text.code, 0) << text.err;
    expect_parts(text.out, {"job " + job + " attempt 1\n", "communication of a step takes ",
                            "bytes of micro at context 768", "placed ", "registration order ",
                            "node order ", "ring 3, 3 ranks on 3 nodes\n", "  NODE ", "  HOST ",
                            "127.0.0.1", "  rings, each", "WAITS-FOR",
                            "compared on the job's 3 devices plus 1 free one\n"});

    const Finished json = at(state, {"placement", job, "--attempt", "1", "-o", "json"});
    ASSERT_EQ(json.code, 0) << json.err;
    const Json reply = Json::parse(json.out);
    EXPECT_EQ(reply.at("jobId"), job);
    EXPECT_EQ(reply.at("numFree"), 1);
    const Json& placement = reply.at("placement");
    EXPECT_TRUE(placement.at("predicted").get<bool>());
    EXPECT_GT(placement.at("placed").at("seconds").get<double>(), 0);
    const Json shown = show(state, job);
    const Json& attempt = shown.at("attempts").at(0);
    ASSERT_EQ(placement.at("placed").at("ranks").size(), 3U);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        const std::string node = attempt.at("placement").at(rank).at("nodeId");
        EXPECT_EQ(placement.at("placed").at("ranks").at(rank).at("nodeId"), node) << rank;
        EXPECT_TRUE(has(text.out, node)) << text.out;
        const std::string next = rank == 2 ? "\n" : " > ";
        EXPECT_TRUE(has(text.out, node.substr(0, 8) + ":0" + next)) << "in the ring: " << text.out;
    }
    EXPECT_EQ(at(state, {"placement", job, "-o", "yaml"}).code, 0);

    const Finished wrong = at(state, {"placement", job, "--attempt", "9"});
    EXPECT_EQ(wrong.code, 3) << wrong.err;
    EXPECT_TRUE(has(wrong.err, "job " + job + " has no attempt 9")) << wrong.err;
    at(state, {"cancel", "--now", job});
    stop(*cluster);
}

TEST_F(Placement, SaysWhatIsMissingWithoutASurveyOrAnAttempt) {
    const std::string socket = "unix:" + path("controller.sock");
    const auto controller = start({program("ringmaster-controller"), "--state", path("controller"),
                                   "--listen", socket, "--http", "none", "--survey", "manual"});
    const auto there = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", socket});
        return cli(arguments);
    };
    const auto worker = start({program("ringmaster-worker"), "--state", path("worker"),
                               "--controller", socket, "--http", "none", "--devices", "cpu:2"});
    ASSERT_TRUE(wait_until(Seconds{30}, [&] {
        return !there({"nodes", "-o", "name"}).out.empty();
    })) << worker->err();
    const auto submitted = [&](const std::string& parallel) {
        const Finished run =
            there({"submit", write_job({.stages = kEndless, .parallel = parallel})});
        EXPECT_EQ(run.code, 0) << run.err;
        return run.out.substr(0, run.out.find('\n'));
    };
    const std::string waiting = submitted("{ring: 3}");
    const auto asked = [&] { return there({"placement", waiting}); };
    ASSERT_TRUE(wait_until(Seconds{30}, [&] { return has(asked().err, "needs 3 cpu devices"); }))
        << asked().err;
    EXPECT_EQ(asked().code, 4);
    EXPECT_TRUE(has(asked().err, "`ringmaster explain " + waiting + "`")) << asked().err;
    there({"cancel", waiting});

    const std::string job = submitted("{ring: 2}");
    ASSERT_TRUE(wait_until(Seconds{60}, [&] {
        return there({"placement", job}).code == 0;
    })) << there({"explain", job}).out;
    expect_parts(there({"placement", job}).out, {"ring 2, 2 ranks on 1 node\n", ":0 > ",
                                                 "  no links are measured: `ringmaster survey`\n"});
    EXPECT_EQ(there({"placement", "nothing"}).code, 3);
    there({"cancel", "--now", job});
    for (const auto& daemon : {worker.get(), controller.get()}) {
        daemon->signal(SIGTERM);
        EXPECT_EQ(daemon->wait(Seconds{30}), 0) << daemon->err();
    }
}

}  // namespace
}  // namespace rm::e2e
