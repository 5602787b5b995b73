#include "tests/e2e/support/connections.h"

#include <csignal>
#include <map>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

// Workers that have joined in this order, each with an address of its own.
struct Joined {
    const char* node;
    const char* address;
};
constexpr Joined kWorkers[] = {
    {"n2", "127.0.0.12"}, {"n0", "127.0.0.14"}, {"n3", "127.0.0.11"}, {"n1", "127.0.0.13"}};

class Connections : public E2eTest {
protected:
    void SetUp() override {
        controller_ = start({program("ringmaster-controller"), "--state", path("controller"),
                             "--listen", socket(), "--http", "none", "--survey", "manual"});
        for (const Joined& worker : kWorkers) {
            add_worker(worker);
            const auto wanted = workers_.size();
            ASSERT_TRUE(wait_until(Seconds{30}, [&] { return num_nodes() == wanted; }))
                << workers_.back()->err();
        }
    }
    void TearDown() override {
        for (const auto& worker : workers_)
            worker->signal(SIGTERM);
        for (const auto& worker : workers_)
            EXPECT_EQ(worker->wait(Seconds{20}), 0) << worker->err();
        controller_->signal(SIGTERM);
        EXPECT_EQ(controller_->wait(Seconds{20}), 0) << controller_->err();
    }
    void add_worker(const Joined& worker) {
        const std::string state = path(worker.node);
        std::filesystem::create_directory(state);
        std::filesystem::permissions(state, std::filesystem::perms::owner_all);
        write_file(state + "/identity.json",
                   Json{{"node_id", worker.node}, {"cluster_id", ""}, {"highest_epoch", 0}}.dump());
        workers_.push_back(start({program("ringmaster-worker"), "--state", state, "--controller",
                                  socket(), "--http", "none", "--data-address", worker.address,
                                  "--slots-on-machine", "4", "--orphan", "stop"}));
        addresses_[worker.node] = worker.address;
    }
    std::string socket() const { return "unix:" + path("c.sock"); }
    Finished here(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", socket()});
        return cli(std::move(arguments));
    }
    std::size_t num_nodes() {
        const Json nodes = Json::parse(here({"nodes", "-o", "json"}).out, nullptr, false);
        return nodes.is_array() ? nodes.size() : 0;
    }

    std::unique_ptr<Process> controller_;
    std::vector<std::unique_ptr<Process>> workers_;
    std::map<std::string, std::string> addresses_;  // by node
};

TEST_F(Connections, OfARingAreThoseOfItsPlacementAsItsRanksSay) {
    const Finished run = here({"submit", write_job({.parallel = "{ring: 4}"}), "--follow"});
    ASSERT_EQ(run.code, 0) << run.err;
    const std::string id = run.out.substr(0, run.out.find('\n'));
    const auto show = [&] { return Json::parse(here({"show", id, "-o", "json"}).out); };
    ASSERT_NO_FATAL_FAILURE(expect_ring_as_placed(show, addresses_));
    const std::string node = show().at("attempts").at(0).at("placement").at(2).at("nodeId");
    const std::string log = here({"logs", id, "--rank", "2"}).out;
    EXPECT_EQ(log.find("rank 2 at " + addresses_[node] + " sends to rank 3 at "), 0u) << log;
    EXPECT_NE(log.find(" and receives from rank 1 at "), std::string::npos) << log;
}

}  // namespace
}  // namespace rm::e2e
