#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <map>
#include <set>
#include <thread>

#include "worker/probe/probe_client.h"
#include "worker/probe/probe_server.h"
#include "worker/probe/prober.h"

namespace rm {
namespace {

const std::string kNonce = "0123456789abcdef";
constexpr const char* kHere = "127.0.0.1";

RunProbe probe_of(const ProbeServer& server, const std::string& nonce = kNonce) {
    return {.id = 7,
            .peer = {"b"},
            .address = kHere,
            .port = server.port(),
            .nonce = nonce,
            .streams = {1, 4},
            .each = Seconds{0.06}};
}

std::unique_ptr<ProbeServer> new_server() {
    return ProbeServer::start({kHere}, {0, 0}).value();
}

TEST(Probe, MeasuresBandwidthAndLatencyOfWhatWasAnnounced) {
    const auto server = new_server();
    server->expect({.nonce = kNonce});
    const ProbeReport report = probe_link(probe_of(*server));
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.id, 7u);
    ASSERT_EQ(report.samples.size(), 2u);
    EXPECT_EQ(report.samples[1].streams, 4);
    for (const BandwidthSample& sample : report.samples) {
        EXPECT_GT(sample.rate.value, 0.05);
        EXPECT_GT(sample.bytes.value, 0);
        EXPECT_GE(sample.seconds.value, 0.039) << "two thirds are counted";
    }
    EXPECT_GT(report.latency.value, 0);
    EXPECT_LT(report.latency.value, 0.1);
}

TEST(Probe, WaitsForAnAnnouncementThatComesALittleLater) {
    const auto server = new_server();
    std::thread late([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        server->expect({.nonce = kNonce});
    });
    EXPECT_EQ(probe_link(probe_of(*server)).error, "");
    late.join();
}

TEST(Probe, IsRefusedWithoutTheControllersNonceAndASecondTime) {
    const auto server = new_server();
    server->expect({.nonce = kNonce});
    EXPECT_NE(probe_link(probe_of(*server, "a stranger's one")).error, "");
    EXPECT_EQ(probe_link(probe_of(*server)).error, "");
    EXPECT_NE(probe_link(probe_of(*server)).error, "") << "a nonce serves once";
}

TEST(Probe, IsRefusedWhenItsTimeIsOver) {
    const auto server = new_server();
    server->expect({.nonce = kNonce, .valid = Seconds{-1}});
    EXPECT_NE(probe_link(probe_of(*server)).error, "");
}

TEST(Probe, OfNobodySaysWhoDidNotAnswer) {
    int port = 0;
    {
        const auto server = new_server();
        port = server->port();
    }
    RunProbe probe{.id = 1, .peer = {"b"}, .address = kHere, .port = port, .nonce = kNonce};
    EXPECT_NE(probe_link(probe).error.find("Connection refused"), std::string::npos);
    probe.nonce = "short";
    EXPECT_NE(probe_link(probe).error, "");
}

TEST(ProbeServer, HoldsNoMoreThanItsConnectionsAndServesOnceTheyHaveGone) {
    const auto server = new_server();
    {
        std::vector<UniqueFd> idle;
        for (int i = 0; i < ProbeServer::kMaxConnections + 5; ++i)
            idle.push_back(dial(kHere, server->port(), Seconds{5}).value());
        char byte = 0;
        EXPECT_EQ(::recv(idle.back().get(), &byte, 1, 0), 0) << "hung up on";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server->expect({.nonce = kNonce});
    EXPECT_EQ(probe_link(probe_of(*server)).error, "");
}

TEST(ProbeServer, ServesEveryAddressOnOnePort) {
    const std::vector<std::string> addresses = {"127.0.0.1", "127.0.0.2"};
    const auto server = ProbeServer::start(addresses, {0, 0}).value();
    std::string nonce = kNonce;  // one for each: the server forgets one after its caller has left
    for (const std::string& address : addresses) {
        ++nonce.back();
        server->expect({.nonce = nonce});
        RunProbe probe = probe_of(*server, nonce);
        probe.address = address;
        EXPECT_EQ(probe_link(probe).error, "") << address;
    }
    RunProbe stranger = probe_of(*server, "a stranger's one");
    stranger.address = "127.0.0.2";
    EXPECT_NE(probe_link(stranger).error, "");
    RunProbe elsewhere = probe_of(*server);
    elsewhere.address = "127.0.0.3";
    EXPECT_NE(probe_link(elsewhere).error.find("Connection refused"), std::string::npos);
}

TEST(ProbeServer, TakesAPortThatIsFreeAtAllOfItsAddresses) {
    const auto first = ProbeServer::start({"127.0.0.2"}, {0, 0}).value();
    const int port = first->port();
    const auto second = ProbeServer::start({"127.0.0.1", "127.0.0.2"}, {port, port + 20});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_GT((*second)->port(), port);
}

TEST(ProbeServer, TakesTheFirstPortOfItsRangeThatIsFree) {
    const auto first = new_server();
    const auto second = ProbeServer::start({kHere}, {first->port(), first->port()});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::resource_exhausted);
}

TEST(PortRange, IsTwoPortsOrOne) {
    EXPECT_EQ(parse_port_range("7080-7199").value(), kDataPorts);
    EXPECT_EQ(parse_port_range("0").value(), (PortRange{0, 0}));
    for (const char* wrong : {"", "x", "7199-7080", "1-70000", "1-", "-1", "1-2-3"})
        EXPECT_FALSE(parse_port_range(wrong)) << wrong;
}

TEST(InsideProbe, OfCpuSlotsHasEveryPairAndTheHostBothWays) {
    const auto samples = make_cpu_inside_probe(3)->measure()->samples;
    std::set<std::pair<int, int>> seen;
    for (const InsideSample& sample : samples) {
        EXPECT_TRUE(seen.insert({sample.from, sample.to}).second);
        EXPECT_GT(sample.rate.value, 0.1);
        EXPECT_GT(sample.latency.value, 0);
        EXPECT_LT(sample.latency.value, 1e-3);
    }
    EXPECT_EQ(seen.size(), 12u);
}

TEST(Prober, AnswersOneProbeAfterTheOther) {
    const auto server = new_server();
    Prober prober(make_cpu_inside_probe(1));
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<ProbeReport> reports;
    prober.start([&](const ProbeReport& report) {
        const std::lock_guard lock(mutex);
        reports.push_back(report);
        changed.notify_all();
    });
    server->expect({.nonce = kNonce});
    prober.run(probe_of(*server));
    prober.run({.id = 8, .kind = ProbeKind::node});
    std::unique_lock lock(mutex);
    ASSERT_TRUE(
        changed.wait_for(lock, std::chrono::seconds(20), [&] { return reports.size() == 2; }));
    EXPECT_EQ(reports[0].samples.size(), 2u);
    EXPECT_EQ(reports[1].id, 8u);
    EXPECT_EQ(reports[1].inside.size(), 2u);
}

}  // namespace
}  // namespace rm
