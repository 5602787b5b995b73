#include <csignal>

#include "spec/session.h"
#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

const std::string kEndless =
    "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";

using Control = LocalClusterTest;

TEST_F(Control, SubmitFollowShowsAJobToItsEnd) {
    const Finished run = here({"submit", write_job({}), "--follow"});
    EXPECT_EQ(run.code, 0) << run.err;
    const std::string id = run.out.substr(0, run.out.find('\n'));
    EXPECT_EQ(run.out, id + "\n") << "stdout is data";
    EXPECT_NE(run.err.find("step 10/10  loss "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("succeeded"), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find('\x1b'), std::string::npos) << "no escapes where there is no terminal";

    EXPECT_EQ(here({"ls", "-o", "name"}).out, "");
    EXPECT_EQ(here({"ls", "-a", "-o", "name"}).out, id + "\n");
    const Finished shown = here({"show", id});
    for (const char* part :
         {"succeeded", "stages", "attempts", "mesh of attempt", "validation at step 10"}) {
        EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
    }
    EXPECT_EQ(here({"show", id.substr(0, 3), "-o", "name"}).out, id + "\n");
    const Finished csv = here({"history", "-o", "csv"});
    EXPECT_NE(csv.out.find("\n" + id + ",demo,"), std::string::npos) << csv.out;
    EXPECT_EQ(here({"history", "--since", "2000-01-01", "-o", "name"}).out, id + "\n");
    EXPECT_EQ(here({"history", "--since", "2999-01-01", "-o", "name"}).out, "");

    const Json waited = Json::parse(here({"wait", id, "-o", "json"}).out);
    ASSERT_EQ(waited.size(), 1u);
    EXPECT_EQ(waited[0]["state"], "succeeded");
    const Json backup = Json::parse(here({"backup", path("b.db"), "-o", "json"}).out);
    EXPECT_EQ(backup["file"], path("b.db"));
    EXPECT_EQ(backup["bytes"], std::filesystem::file_size(path("b.db")));
    const std::string lines = here({"logs", id, "-o", "json"}).out;
    const Json line = Json::parse(lines.substr(0, lines.find('\n')));
    EXPECT_EQ(line["rank"], 0) << line;
    EXPECT_TRUE(line["text"].is_string()) << line;
}

TEST_F(Control, CtrlCDetachesAndTheJobGoesOn) {
    const auto follower = start({program("ringmaster"), "--state", state_, "submit",
                                 write_job({.stages = kEndless}), "--follow"});
    ASSERT_TRUE(wait_until(Seconds{60}, [&] { return last_step_shown(*follower) >= 2; }))
        << follower->err();
    follower->signal(SIGINT);
    EXPECT_EQ(follower->wait(Seconds{10}), 130);
    const std::string id = follower->out().substr(0, follower->out().find('\n'));
    EXPECT_NE(follower->err().find("`ringmaster cancel " + id + "`"), std::string::npos)
        << follower->err();
    const std::int64_t then = show(state_, id)["lastStep"]["step"].get<std::int64_t>();
    EXPECT_TRUE(wait_for_step(state_, id, then + 2));
}

TEST_F(Control, CancelWritesACheckpoint) {
    const std::string id = submit(state_, write_job({.stages = kEndless}));
    ASSERT_TRUE(wait_for_step(state_, id, 3));
    EXPECT_EQ(show(state_, id)["attempts"][0]["lastCheckpointPath"], "");
    const Finished cancelled = here({"cancel", id.substr(0, 4)});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_EQ(cancelled.out, id + "\n");
    ASSERT_TRUE(wait_for_state(state_, id, "cancelled"));
    const Json attempt = show(state_, id)["attempts"][0];
    const std::string checkpoint = attempt["lastCheckpointPath"];
    EXPECT_TRUE(std::filesystem::is_directory(checkpoint)) << attempt.dump(2);
    EXPECT_GE(attempt["lastCheckpointStep"].get<std::int64_t>(), 3);
    EXPECT_NE(here({"cancel", id}).code, 1) << "cancelling again is no internal error";
}

TEST_F(Control, CancelNowWritesNone) {
    const std::string id = submit(state_, write_job({.stages = kEndless}));
    ASSERT_TRUE(wait_for_step(state_, id, 2));
    EXPECT_EQ(here({"cancel", id, "--now"}).code, 0);
    ASSERT_TRUE(wait_for_state(state_, id, "cancelled"));
    EXPECT_EQ(show(state_, id)["attempts"][0]["lastCheckpointPath"], "");
}

TEST_F(Control, ShowsTheLogOfEachRank) {
    const std::string id = submit(state_, write_job({.stages = kEndless}));
    ASSERT_TRUE(wait_for_step(state_, id, 3));
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return here({"logs", id}).out.find("step 2/100000") != std::string::npos;
    })) << here({"logs", id}).out;
    EXPECT_EQ(here({"logs", id, "--rank", "1"}).code, 0);
    const Finished beyond = here({"logs", id, "--rank", "9"});
    EXPECT_NE(beyond.code, 0);
    EXPECT_NE(beyond.err.find('9'), std::string::npos) << beyond.err;

    const auto follower = start({program("ringmaster"), "--state", state_, "logs", "-f", id});
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return follower->out().find("step 5/100000") != std::string::npos;
    })) << follower->out();
    EXPECT_EQ(here({"cancel", id}).code, 0);
    EXPECT_EQ(follower->wait(Seconds{60}), 0) << "it ends with the job";
}

TEST_F(Control, SaysWhichJobDoesNotExist) {
    for (const char* verb : {"show", "logs", "cancel"}) {
        const Finished missing = here({verb, "zzzzzz"});
        EXPECT_EQ(missing.code, 3) << verb << missing.err;
        EXPECT_NE(missing.err.find("zzzzzz"), std::string::npos) << missing.err;
        EXPECT_EQ(missing.out, "");
    }
}

TEST_F(Control, PrintsDocumentsThatParse) {
    const std::string id = submit(state_, write_job({.stages = kEndless}));
    ASSERT_TRUE(wait_for_step(state_, id, 1));
    for (const char* verb : {"ls", "history", "nodes"}) {
        const Json list = Json::parse(here({verb, "-o", "json"}).out, nullptr, false);
        ASSERT_TRUE(list.is_array()) << verb;
        EXPECT_EQ(list.size(), std::string(verb) == "nodes" ? 2u : 1u) << verb;
        EXPECT_EQ(here({verb, "-o", "yaml"}).out.substr(0, 7), "- id: \"") << verb;
        EXPECT_EQ(here({verb, "-o", "wide"}).code, 0);
    }
    const std::string table = here({"ls"}).out;
    EXPECT_EQ(table.substr(0, 3), "ID ");
    EXPECT_NE(table.find(" running "), std::string::npos) << table;
    const Json version = Json::parse(cli({"version", "-o", "json"}).out);
    EXPECT_EQ(version["protocol"], kProtocol);
    EXPECT_EQ(here({"cancel", id, "--now"}).code, 0);
}

TEST_F(Control, KeepsTheJobFileByteForByte) {
    const std::string file = write_job({.stages = kEndless, .extra = "# a remark\n"});
    const std::string id = submit(state_, file);
    EXPECT_EQ(show(state_, id)["spec"]["yaml"], read_file(file));
    EXPECT_EQ(here({"cancel", id}).code, 0);
}

// Without `up`: separate daemons, so that one can be killed.
TEST_F(E2eTest, FollowSurvivesAControllerThatIsKilledAndStartedAgain) {
    const std::string address = "unix:" + path("c.sock");
    const auto controller = [&] {
        return start({program("ringmaster-controller"), "--state", path("c"), "--listen", address,
                      "--http", "none"});
    };
    auto first = controller();
    ASSERT_TRUE(
        wait_until(Seconds{30}, [&] { return !read_file(path("c/controller.json")).empty(); }));
    std::vector<std::unique_ptr<Process>> workers;
    for (const char* name : {"w0", "w1"}) {
        workers.push_back(start({program("ringmaster-worker"), "--state", path(name),
                                 "--controller", address, "--devices", "cpu:1", "--http", "none",
                                 "--orphan", "stop", "--slots-on-machine", "2"}));
    }
    const std::string stages =
        "  - {context: 256, batch: 512, tokens: 307200, learning_rate: 1e-3}\n";
    const auto follower = start({program("ringmaster"), "--address", address, "submit",
                                 write_job({.stages = stages}), "--follow"});
    const auto shows = [&](const std::string& text) {
        return wait_until(Seconds{60},
                          [&] { return follower->err().find(text) != std::string::npos; });
    };
    ASSERT_TRUE(wait_until(Seconds{60}, [&] { return last_step_shown(*follower) >= 2; }))
        << follower->err();
    first->signal(SIGKILL);
    first->wait(Seconds{5});
    EXPECT_TRUE(shows("the job keeps running")) << follower->err();
    const auto second = controller();
    EXPECT_TRUE(shows("the controller is back")) << follower->err();
    EXPECT_EQ(follower->wait(Seconds{120}), 0) << follower->err();
    for (const auto& worker : workers) {
        worker->signal(SIGTERM);
        EXPECT_EQ(worker->wait(Seconds{30}), 0) << worker->err();
    }
    second->signal(SIGTERM);
    EXPECT_EQ(second->wait(Seconds{30}), 0) << second->err();
}

}  // namespace
}  // namespace rm::e2e
