#include <gmock/gmock.h>

#include "tests/e2e/support/connections.h"
#include "tests/lab/lab_cluster.h"

// Machines that two networks join: the survey finds the faster one, and ranks use it.
namespace rm::lab {
namespace {

using ::testing::HasSubstr;
using Addresses = std::map<std::string, std::string>;  // by node

class TwoNetworks : public LabCluster {
protected:
    static constexpr int kNodes = 2;
    void SetUp() override {
        LabCluster::SetUp();
        if (IsSkipped()) return;
        lab_->add_second_network({300});
        for (int i = 0; i < kNodes; ++i) {
            const std::string host = format("n{}", i);
            lab_->set_host_rate(host, {40});
            first_[host] = lab_->address(host);
            second_[host] = lab_->second_address(host);
        }
        pinned_ = false;
        restart_controller();
        start_workers(kNodes);
    }
    void restart_controller() {
        stop_controller();
        start_controller({"--survey", "manual"});
    }
    Addresses addresses() {
        Addresses found;
        for (const Json& node : nodes())
            found[node.at("id")] = node.at("inventory").at("dataAddress");
        return found;
    }

    Addresses first_;
    Addresses second_;
};

TEST_F(TwoNetworks, TheFasterOneIsFoundUsedAndRemembered) {
    EXPECT_EQ(addresses(), first_) << "from which the workers reach the controller";
    const Finished survey = there({"survey", "--wait"});
    ASSERT_EQ(survey.code, 0) << survey.err;
    EXPECT_THAT(controller_->err(), HasSubstr("data_address_chosen"));
    ASSERT_EQ(addresses(), second_) << controller_->err();
    const Json links = Json::parse(there({"links", "-o", "json"}).out);
    EXPECT_GT(links.at("network").at("matrix").at("gbit_per_s").at(0).at(1).get<double>(), 0.2);

    submit_job({.parallel = "{ring: 2}"});
    ASSERT_TRUE(reaches_state("succeeded", Seconds{60}));
    e2e::expect_ring_as_placed([&] { return job(); }, second_);

    restart_controller();
    const auto are_back = [&] { return has_session("n0") && has_session("n1"); };
    ASSERT_TRUE(e2e::wait_until(Seconds{30}, are_back));
    EXPECT_EQ(addresses(), second_);
}

}  // namespace
}  // namespace rm::lab
