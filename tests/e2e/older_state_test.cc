#include <csignal>

#include "tests/e2e/support/e2e_test.h"

// The programs of 277afae left this state behind (tests/golden/state says how it was made): a
// controller's and a worker's, two jobs with checkpoints, an export. One job had finished; worker,
// shim and ranks of the other were killed in the middle.
namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

class OlderState : public E2eTest {
protected:
    void SetUp() override {
        fs::create_directories(path("old"));
        ASSERT_EQ(run({"/usr/bin/env", "tar", "-xf", RM_OLDER_STATE, "-C", path("old")}).code, 0);
        controller_ = start({program("ringmaster-controller"), "--state", path("old/controller"),
                             "--listen", address_, "--http", "none"});
        ASSERT_TRUE(wait_until(Seconds{30}, [&] { return !list().empty(); })) << controller_->err();
    }
    void TearDown() override {
        for (const auto& daemon : {worker_.get(), controller_.get()})
            if (daemon != nullptr) end(*daemon);
    }
    static void end(Process& daemon) {
        daemon.signal(SIGTERM);
        EXPECT_TRUE(daemon.wait(Seconds{40})) << daemon.err();
        EXPECT_EQ(daemon.err().find(" error ringmaster"), std::string::npos) << daemon.err();
    }
    void start_worker() {
        worker_ = start({program("ringmaster-worker"), "--state", path("old/worker"),
                         "--controller", address_, "--http", "none", "--devices", "cpu:2",
                         "--orphan", "stop", "--root", "work=" + path("old/work")});
    }

    Finished here(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", address_});
        return cli(std::move(arguments));
    }
    Json list() {
        const Json jobs = Json::parse(here({"ls", "-a", "-o", "json"}).out, nullptr, false);
        return jobs.is_discarded() ? Json::array() : jobs;
    }
    Json job(const std::string& id) { return Json::parse(here({"show", id, "-o", "json"}).out); }
    std::string id_of(const std::string& name) {
        for (const Json& listed : list())
            if (listed["spec"]["name"] == name) return listed["id"];
        ADD_FAILURE() << "no job is called " << name;
        return "";
    }
    bool reaches(const std::string& id, const std::string& state) {
        return wait_until(Seconds{90}, [&] { return job(id)["state"] == state; });
    }

    const std::string address_ = "unix:" + path("socket");
    std::unique_ptr<Process> controller_, worker_;
};

TEST_F(OlderState, HistoryKeepsWhatWasStored) {
    const Json finished = job(id_of("finished"));
    EXPECT_EQ(finished["state"], "succeeded");
    EXPECT_EQ(finished["lastStep"]["step"], 8);
    EXPECT_NEAR(finished["lastStep"]["loss"].get<double>(), 5.363, 0.001);
    EXPECT_NEAR(finished["lastEvaluation"]["loss"].get<double>(), 5.331, 0.001);
    EXPECT_EQ(finished["spec"]["exports"]["huggingface"], "work:export");
    EXPECT_EQ(job(id_of("killed"))["spec"]["priority"], 3);
}

TEST_F(OlderState, TheKilledAttemptEndsAndTheNextGoesOnFromItsCheckpoint) {
    const std::string id = id_of("killed");
    start_worker();
    ASSERT_TRUE(wait_until(Seconds{90}, [&] {
        const Json attempts = job(id)["attempts"];
        return attempts.size() == 2 && attempts[1]["state"] == "running";
    })) << worker_->err();
    const Json ended = job(id)["attempts"][0];
    EXPECT_EQ(ended["state"], "failed");
    EXPECT_NE(ended["cause"].get<std::string>().find("together with its shim"), std::string::npos)
        << ended["cause"];
    EXPECT_EQ(here({"cancel", id}).code, 0);
    EXPECT_TRUE(reaches(id, "cancelled"));
    const std::string log = here({"logs", id}).out;
    EXPECT_NE(log.find("e2-s8 at step 8"), std::string::npos) << log;
}

TEST_F(OlderState, ItsJobFileIsReadAndItsModelTrained) {
    start_worker();
    ASSERT_EQ(here({"cancel", id_of("killed")}).code, 0);
    const Finished submitted = here({"submit", path("old/finished.yaml"), "-o", "name"});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
    ASSERT_TRUE(reaches(id, "succeeded")) << job(id);
    // A busy worker reports the last step after the end.
    EXPECT_TRUE(wait_until(Seconds{30}, [&] { return job(id)["lastStep"]["step"] == 8; }));
    EXPECT_NEAR(job(id)["lastStep"]["loss"].get<double>(), 5.363, 0.001);
}

}  // namespace
}  // namespace rm::e2e
