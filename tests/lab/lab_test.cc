#include "tests/lab/lab.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "tests/lab/tcp_flow.h"

namespace rm::lab {
namespace {

constexpr std::string_view kTwoRacks =
    "racks:\n"
    "  - {name: left, hosts: [a0, a1]}\n"
    "  - {name: right, rate: 200, hosts: [b0, b1]}\n"
    "cables:\n"
    "  - {between: [left, right], rate: 50}\n"
    "slow: {b1: 20}\n";

std::string refusal(std::string_view yaml) {
    const auto topology = parse_topology(yaml, "lab.yaml");
    return topology ? "accepted" : topology.error().message;
}

TEST(Topology, IsReadFromItsYaml) {
    const Topology topology = parse_topology(kTwoRacks, "lab.yaml").value();
    EXPECT_EQ(topology.racks, (std::vector<std::string>{"left", "right"}));
    ASSERT_EQ(topology.hosts.size(), 4u);
    EXPECT_EQ(topology.hosts[0].rate, kFastest);
    EXPECT_EQ(topology.hosts[2].rate, MbitPerSec{200});
    EXPECT_EQ(topology.hosts[topology.host_index("b1")].rate, MbitPerSec{20});
    EXPECT_EQ(topology.hosts[3].rack, topology.rack_index("right"));
    ASSERT_EQ(topology.cables.size(), 1u);
    EXPECT_EQ(topology.cables[0].rate, MbitPerSec{50});
}

TEST(Topology, SaysWhatIsWrongWithItsYaml) {
    const std::string racks = "racks:\n  - {name: a, hosts: [x]}\n  - {name: b, hosts: [y]}\n";
    EXPECT_EQ(refusal("racks:\n  - {name: a, hosts: [x, x]}\n"),
              "lab.yaml: two hosts are named 'x'");
    EXPECT_EQ(refusal(racks), "lab.yaml: no cable joins rack b to a");
    const std::string cable = "  - {between: [a, b], rate: 10}\n";
    EXPECT_EQ(refusal(racks + "cables:\n" + cable + cable),
              "lab.yaml: the cable between a and b closes a loop");
    EXPECT_EQ(refusal(racks + "cables:\n  - {between: [a, c], rate: 10}\n"),
              "lab.yaml:5:5: cables[0]: there is no rack 'c'");
    EXPECT_EQ(refusal(racks + "cables:\n  - {between: [a, b], rate: 1000}\n"),
              "lab.yaml:5:29: cables[0].rate: a rate is 1 to 400 Mbit/s");
    EXPECT_NE(refusal(racks + "slow: {z: 10}\n").find("slow.z: unknown key"), std::string::npos);
}

// The two racks as namespaces.
class RealLab : public testing::Test {
protected:
    void SetUp() override {
        if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
        lab_ = std::make_unique<Lab>(parse_topology(kTwoRacks, "lab.yaml").value());
    }
    static void sleep(double seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
    // One of many measurements must find the rate (headers take 4.4 % of it): all hosts share this
    // machine's cores, which may be denied to it for seconds, again and again.
    static void expect_near(const std::function<double()>& measure, double wanted) {
        constexpr int kMeasurements = 30;
        double measured = 0;
        for (int i = 0; i < kMeasurements && std::abs(measured - wanted) > 0.15 * wanted; ++i)
            measured = measure();
        EXPECT_NEAR(measured, wanted, 0.15 * wanted);
    }
    // Once TCP has found its rate.
    static void expect_rate(const TcpFlow& flow, double wanted) {
        sleep(0.3);
        expect_near([&] { return flow.measure(Seconds{0.7}).value; }, wanted);
    }
    void expect_rate(const std::string& from, const std::string& to, double wanted) {
        SCOPED_TRACE(from + " to " + to);
        const auto measure = [&] {
            const TcpFlow flow(*lab_, from, to);
            sleep(0.3);
            return flow.measure(Seconds{0.7}).value;
        };
        expect_near(measure, wanted);
    }

    std::unique_ptr<Lab> lab_;
};

TEST_F(RealLab, TwoEndsOfAConnectionSeeTheSlowestLinkBetweenThem) {
    expect_rate("a0", "a1", 400);
    expect_rate("a0", "b0", 50);
    expect_rate("b0", "a0", 50);
    expect_rate("a1", "b1", 20);
    expect_rate("b1", "b0", 20);
}

TEST_F(RealLab, ConnectionsShareADirectionOfACableAndNotTheOther) {
    const TcpFlow there(*lab_, "a0", "b0");
    const TcpFlow back(*lab_, "b0", "a1");
    expect_rate(there, 50);
    expect_rate(back, 50);
    const TcpFlow beside(*lab_, "a1", "b0");
    sleep(0.3);
    const auto both = [&] {
        const std::int64_t before = there.received() + beside.received();
        sleep(0.7);
        return static_cast<double>(there.received() + beside.received() - before) * 8e-6 / 0.7;
    };
    expect_near(both, 50);
}

TEST_F(RealLab, ARateChangesUnderAConnection) {
    const TcpFlow flow(*lab_, "a0", "b0");
    expect_rate(flow, 50);
    lab_->set_cable_rate("right", "left", {150});
    expect_rate(flow, 150);
    lab_->set_host_rate("b0", {30});
    expect_rate(flow, 30);
}

TEST_F(RealLab, ACutIsSilentAndOfTwoHostsOnly) {
    const TcpFlow flow(*lab_, "a0", "a1");
    expect_rate(flow, 400);
    lab_->cut("a0", "a1");
    sleep(0.2);  // what was under way
    EXPECT_EQ(flow.measure(Seconds{0.4}).value, 0);
    EXPECT_FALSE(connects(*lab_, "a0", "a1", Seconds{0.3}));
    EXPECT_FALSE(connects(*lab_, "a1", "a0", Seconds{0.3}));
    EXPECT_TRUE(connects(*lab_, "a0", "b0", Seconds{5}));
    EXPECT_TRUE(connects(*lab_, "b0", "a1", Seconds{5}));
    lab_->heal("a0", "a1");
    sleep(1.5);  // until the sender tries again
    expect_rate(flow, 400);
}

}  // namespace
}  // namespace rm::lab
