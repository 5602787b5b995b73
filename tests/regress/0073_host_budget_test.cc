// Each of a node's ranks compared what it would take with all the memory that the machine had free
// at that moment: ten together took ten times as much as there was, and the kernel chose what to
// kill. Memory was never refused before it was touched, and the job was tried again.
#include <csignal>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

// One worker with ten slots, whose ranks may together use this much.
class Regress0073 : public E2eTest {
protected:
    void start_cluster(const std::string& memory) {
        controller_ = start({program("ringmaster-controller"), "--state", path("controller"),
                             "--listen", socket(), "--http", "none", "--survey", "manual"});
        worker_ = start({program("ringmaster-worker"), "--state", path("worker"), "--controller",
                         socket(), "--http", "none", "--ports", "0", "--devices", "cpu:10",
                         "--memory", memory, "--orphan", "stop"});
        ASSERT_TRUE(wait_until(Seconds{60}, [&] { return nodes().size() == 1; })) << worker_->err();
    }
    void TearDown() override {
        for (const auto& daemon : {worker_.get(), controller_.get()}) {
            if (daemon == nullptr) continue;
            daemon->signal(SIGTERM);
            EXPECT_EQ(daemon->wait(Seconds{30}), 0) << daemon->err();
        }
    }
    std::string socket() const { return "unix:" + path("c.sock"); }
    Finished here(std::vector<std::string> arguments, Seconds limit = Seconds{120}) {
        arguments.insert(arguments.begin(), {"--address", socket()});
        return cli(std::move(arguments), limit);
    }
    Json nodes() {
        const Json nodes = Json::parse(here({"nodes", "-o", "json"}).out, nullptr, false);
        return nodes.is_array() ? nodes : Json::array();
    }
    // Ten ranks, each with the whole model: 119,232 parameters and what a step of 256 tokens takes.
    Finished train() {
        return here({"submit",
                     write_job({.stages = "  - {context: 256, batch: 2560, tokens: 5120, "
                                          "learning_rate: 2e-3}\n",
                                .parallel = "{data: 10}"}),
                     "--follow"});
    }

    std::unique_ptr<Process> controller_;
    std::unique_ptr<Process> worker_;
};

TEST_F(Regress0073, TenRanksHaveATenthOfTheBudgetEach) {
    start_cluster("1000MiB");
    const Json devices = nodes().at(0).at("inventory").at("devices");
    ASSERT_EQ(devices.size(), 10u);
    EXPECT_EQ(devices[9].at("memoryBytes"), std::int64_t{100} << 20);
    const Finished run = train();
    EXPECT_EQ(run.code, 0) << run.out << run.err;
}

TEST_F(Regress0073, AStepThatIsMoreThanItsShareIsRefusedBeforeItIsTakenAndNotTriedAgain) {
    start_cluster("40MiB");
    const Finished run = train();
    EXPECT_EQ(run.code, 5) << run.out << run.err;
    const std::string id = run.out.substr(0, run.out.find('\n'));
    const Json job = Json::parse(here({"show", id, "-o", "json"}).out, nullptr, false);
    ASSERT_EQ(job.at("attempts").size(), 1u) << job.dump(2);
    const std::string cause = job.at("attempts")[0].at("cause");
    EXPECT_NE(cause.find("its share of what the machine has for ranks is 4.0 MiB"),
              std::string::npos)
        << cause;
    EXPECT_EQ(cause.find(".cc:"), std::string::npos) << cause;
}

}  // namespace
}  // namespace rm::e2e
