#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "engine/comm/shared/place.h"
#include "engine/comm/transport/pair_table.h"
#include "engine/comm/transport/transport.h"
#include "spec/report.h"
#include "tests/engine/comm/cluster.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::run_all;
using testing::run_ranks;
using testing::Stopwatch;

using Data = std::vector<std::byte>;

constexpr std::size_t kMoreThanSocketsHold = std::size_t{128} << 20;

// The place of a rank on a node of its own.
std::string another_place() {
    return encode_place({.address = "127.0.0.200", .user = "0", .door = "none", .secret = "none"});
}

// Answers with these blobs of gloo, of ranks on nodes of their own.
class FixedExchange final : public Exchange {
public:
    explicit FixedExchange(std::vector<std::string> table) : table_(std::move(table)) {}
    Result<std::vector<std::string>> exchange(std::string_view group, std::string,
                                              Seconds) override {
        if (group == "gloo") return table_;
        return std::vector<std::string>(table_.size(), another_place());
    }

private:
    std::vector<std::string> table_;
};

std::string connect_error(const std::string& address, Exchange& exchange) {
    const TransportOptions options{
        .rank = 0, .num_ranks = 2, .peers = {1}, .timeout = Seconds{0.5}};
    try {
        make_gloo_transport(address, exchange, options);
    } catch (const TransportError& error) {
        return error.what();
    }
    return "";
}

TEST(GlooTransport, RefusesAnAddressOfAnotherMachine) {
    const auto exchanges = make_local_exchanges(2);
    EXPECT_THAT(connect_error("192.0.2.1", *exchanges[0]),
                HasSubstr("rank 0 cannot listen on 192.0.2.1: Cannot assign requested address"));
    EXPECT_THAT(connect_error("localhost", *exchanges[0]),
                HasSubstr("'localhost' is not an IP address"));
}

TEST(GlooTransport, NamesThePeerThatNeverPublished) {
    const auto exchanges = make_local_exchanges(2);
    EXPECT_THAT(connect_error("127.0.0.1", *exchanges[0]),
                HasSubstr("rank 1 of 2 has not published within 500 ms"));
}

TEST(GlooTransport, NamesThePeerWhosePeersDiffer) {
    FixedExchange exchange({"", ""});
    EXPECT_THAT(connect_error("127.0.0.1", exchange),
                HasSubstr("rank 1 does not list this rank as a peer"));
}

TEST(GlooTransport, NamesThePeerWhoseBlobIsTorn) {
    FixedExchange exchange({"", "abc"});
    EXPECT_THAT(connect_error("127.0.0.1", exchange), HasSubstr("rank 1: pair table ends"));
}

// Publishes its entry for gloo, then reports an error, so that its rank never connects.
class HalfExchange final : public Exchange {
public:
    explicit HalfExchange(Exchange& inner) : inner_(inner) {}
    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override {
        auto table = inner_.exchange(group, std::move(blob), timeout);
        if (group != "gloo") return table;
        RM_RETURN_IF_ERROR(published(table));
        return make_error(ErrorCode::cancelled, "this rank stops here");
    }

private:
    static Status published(const Result<std::vector<std::string>>& table) {
        return table ? Status() : Status(table.error());
    }
    Exchange& inner_;
};

TEST(GlooTransport, NamesThePeerThatNeverConnected) {
    const auto exchanges = make_local_exchanges(2);
    HalfExchange half(*exchanges[1]);
    std::thread silent([&] {
        const TransportOptions options{.rank = 1, .num_ranks = 2, .peers = {0}};
        EXPECT_THROW(make_gloo_transport("127.0.0.2", half, options), TransportError);
    });
    const Stopwatch watch;
    EXPECT_THAT(connect_error("127.0.0.1", *exchanges[0]), HasSubstr("rank 1"));
    EXPECT_LT(watch.seconds(), 10);
    silent.join();
}

TEST(GlooTransport, TimesOutWhereLengthsDiffer) {
    const auto errors = run_ranks(
        {.kind = "gloo", .num_ranks = 2, .timeout = Seconds{0.5}}, [](Transport& transport) {
            Data data(8);
            if (transport.rank() == 0) {
                transport.wait(transport.send(1, data));
            } else {
                transport.wait(transport.recv(0, std::span(data).first(4)));
            }
        });
    EXPECT_THAT(errors[0] + errors[1], HasSubstr("timed out"));
}

std::string ip(const std::string& end) {
    return end.substr(0, end.rfind(':'));
}

TEST(GlooTransport, SaysWhatItsSocketsAreConnectedTo) {
    const std::vector<std::string> addresses = {"127.0.0.3", "127.0.0.1", "127.0.0.2"};
    std::vector<std::vector<Connection>> said(3);
    run_all({.kind = "gloo", .num_ranks = 3, .addresses = addresses}, [&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        EXPECT_EQ(transport.address(), addresses[rank]);
        said[rank] = transport.connections();
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
        ASSERT_EQ(said[rank].size(), 2u);
        for (const Connection& here : said[rank]) {
            const auto peer = static_cast<std::size_t>(here.peer);
            const std::size_t place = rank < peer ? rank : rank - 1;  // among the peer's peers
            const Connection& there = said[peer][place];
            SCOPED_TRACE(format("rank {}: {}, rank {}: {}", rank, here.own, peer, there.own));
            EXPECT_EQ(there.peer, static_cast<int>(rank));
            EXPECT_EQ(here.own, there.other);
            EXPECT_EQ(here.other, there.own);
            // The rank with the lower address listens, and both names contain that address.
            const bool listens = addresses[rank] < addresses[peer];
            EXPECT_EQ(ip(listens ? here.own : here.other), addresses[listens ? rank : peer]);
        }
    }
}

TEST(GlooTransport, NamesAddressesOfVersionSixInBrackets) {
    const int probe = socket(AF_INET6, SOCK_STREAM, 0);
    sockaddr_in6 loopback{};
    loopback.sin6_family = AF_INET6;
    loopback.sin6_addr = in6addr_loopback;
    const bool has_v6 =
        bind(probe, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
    close(probe);
    if (!has_v6) GTEST_SKIP() << "this machine has no ::1";
    // Two texts of one address: ranks on two nodes, as far as they know.
    run_all({.kind = "gloo", .num_ranks = 2, .addresses = {"::1", "0::1"}},
            [](Transport& transport) {
                EXPECT_THAT(transport.connections().at(0).own, ::testing::StartsWith("[::1]:"));
                EXPECT_THAT(transport.connections().at(0).other, ::testing::StartsWith("[::1]:"));
            });
}

// Finds ports without a listener at these addresses; not those that the kernel assigns.
PortRange free_ports(int count) {
    static int next = 20000 + getpid() % 10000;
    const PortRange ports{next, next + count - 1};
    next += count;
    return ports;
}

int port_of(const std::string& end) {
    return std::stoi(end.substr(end.rfind(':') + 1));
}

TEST(GlooTransport, ListensInItsRangeForRanksAtOtherAddresses) {
    const std::vector<std::string> addresses = {"127.0.0.1", "127.0.0.2", "127.0.0.2"};
    const PortRange ports = free_ports(12);
    run_all({.kind = "gloo", .num_ranks = 3, .addresses = addresses, .ports = ports},
            [&](Transport& transport) {
                for (const Connection& connection : transport.connections()) {
                    const auto& here = addresses[static_cast<std::size_t>(transport.rank())];
                    const auto& there = addresses[static_cast<std::size_t>(connection.peer)];
                    if (here == there) continue;
                    // The side with the lower address listens.
                    const int port = port_of(here < there ? connection.own : connection.other);
                    EXPECT_GE(port, ports.first);
                    EXPECT_LE(port, ports.last);
                }
                Data data(8);
                const int next = (transport.rank() + 1) % 3, previous = (transport.rank() + 2) % 3;
                const auto in = transport.recv(previous, data);
                transport.wait(transport.send(next, Data(8)));
                transport.wait(in);
            });
}

TEST(GlooTransport, NamesTheRangeThatHasNoPortLeft) {
    // Each of the two ranks at 127.0.0.2 needs a port.
    const PortRange ports = free_ports(1);
    const auto errors = run_ranks({.kind = "gloo",
                                   .num_ranks = 3,
                                   .timeout = Seconds{2},
                                   .addresses = {"127.0.0.1", "127.0.0.2", "127.0.0.2"},
                                   .ports = ports},
                                  [](Transport&) {});
    EXPECT_THAT(
        errors[0] + errors[1] + errors[2],
        HasSubstr(format("no port of {} is left for the connection with rank", to_string(ports))));
    EXPECT_THAT(errors[0] + errors[1] + errors[2], HasSubstr("--ports"));
}

TEST(GlooTransport, NamesThePeersAddressAndTheReasonThatItIsNotReachedBy) {
    // Rank 0 publishes an address without a listener.
    PairTable table;
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(1);
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_storage storage{};
    std::memcpy(&storage, &nobody, sizeof nobody);
    const auto* bytes = reinterpret_cast<const char*>(&storage);
    // gloo's address is the socket's and a sequence number, which here is unset.
    table[0] = std::string(bytes, sizeof storage) + std::string(sizeof(std::int64_t), '\xff');
    FixedExchange exchange({"", encode_pair_table(table)});
    const Stopwatch watch;
    EXPECT_THAT(connect_error("127.0.0.9", exchange),
                AllOf(HasSubstr("rank 0 could not connect to rank 1 at 127.0.0.1:1 in "),
                      HasSubstr(": Connection refused")));
    EXPECT_LT(watch.seconds(), 0.4) << "at once";
}

// Memory whose last page cannot be read, so that sending it fails halfway.
class TornMemory {
public:
    TornMemory() {
        memory_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(memory_, MAP_FAILED);
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        EXPECT_EQ(mprotect(static_cast<char*>(memory_) + kSize - page, page, PROT_NONE), 0);
    }
    TornMemory(const TornMemory&) = delete;
    TornMemory& operator=(const TornMemory&) = delete;
    ~TornMemory() { munmap(memory_, kSize); }
    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(memory_), kSize};
    }
    static constexpr std::size_t kSize = std::size_t{1} << 20;

private:
    void* memory_ = nullptr;
};

TEST(GlooTransport, NoticesThatTheSenderFailedInTheMiddleOfAMessage) {
    const TornMemory torn;
    const Stopwatch watch;
    const auto errors = run_ranks({.kind = "gloo", .num_ranks = 2}, [&](Transport& transport) {
        Data go(1);
        if (transport.rank() == 0) {
            Data data(TornMemory::kSize);
            const auto cut_short = transport.recv(1, data);
            transport.wait(transport.send(1, go));
            transport.wait(cut_short);
        } else {
            transport.wait(transport.recv(0, go));  // after it the receive is known here
            transport.wait(transport.send(0, torn.bytes()));
        }
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 1 is gone: Connection closed by peer"));
    EXPECT_THAT(errors[1], HasSubstr("Bad address"));
    EXPECT_LT(watch.seconds(), 10);
}

[[noreturn]] void receive_and_stop(const std::string& directory) {
    try {
        const auto exchange = make_directory_exchange(directory, 1, 2);
        const TransportOptions options{.rank = 1, .num_ranks = 2, .peers = {0}};
        const auto transport = make_gloo_transport("127.0.0.2", *exchange, options);
        static Data data(kMoreThanSocketsHold);
        (void)transport->recv(0, data);
        raise(SIGSTOP);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank 1: %s\n", error.what());
    }
    _exit(1);
}

// Rank 1 is a process that dies while rank 0 still has most of the message to write.
TEST(GlooTransport, NoticesThatTheReceiverWasKilledInTheMiddleOfAMessage) {
    const TempDir temporary;
    const std::string& directory = temporary.path();
    const pid_t child = fork();
    if (child == 0) receive_and_stop(directory);
    const auto exchange = make_directory_exchange(directory, 0, 2);
    const TransportOptions options{.rank = 0, .num_ranks = 2, .peers = {1}};
    const auto transport = make_gloo_transport("127.0.0.1", *exchange, options);
    waitpid(child, nullptr, WUNTRACED);
    const Data data(kMoreThanSocketsHold);
    const auto handle = transport->send(1, data);
    std::jthread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    });
    const Stopwatch watch;
    std::string message;
    try {
        transport->wait(handle);
    } catch (const TransportError& error) {
        message = error.what();
    }
    EXPECT_THAT(message, HasSubstr("rank 1 is gone"));
    EXPECT_LT(watch.seconds(), 10);
}

// Two ranks on one node, the third on another.
TEST(MixedTransport, SaysWhatItIsByRank) {
    run_all({.kind = "mixed", .num_ranks = 3}, [](Transport& transport) {
        const bool alone = transport.rank() == 2;
        EXPECT_EQ(transport.description(), alone ? "gloo" : "gloo, shared memory on the node");
        const auto connections = transport.connections();
        ASSERT_EQ(connections.size(), 2u);
        EXPECT_LT(connections[0].peer, connections[1].peer);
        for (const Connection& connection : connections) {
            const bool near = !alone && connection.peer != 2;
            EXPECT_EQ(connection.own == kSharedMemory, near) << connection.own;
        }
    });
}

// Rank 1 waits for a message of the other node that comes after rank 0 has received all of rank
// 1's.
TEST(MixedTransport, SendsToItsNodeWhileItWaitsForAnother) {
    const Data sent(std::size_t{20} << 20, std::byte{3});
    const testing::Cluster cluster{.kind = "mixed", .num_ranks = 3, .timeout = Seconds{20}};
    run_all(cluster, [&](Transport& transport) {
        Data token(1), received(sent.size());
        switch (transport.rank()) {
            case 0:
                transport.wait(transport.recv(1, received));
                EXPECT_TRUE(received == sent);
                return transport.wait(transport.send(2, token));
            case 1: {
                const auto leaving = transport.send(0, sent);
                transport.wait(transport.recv(2, token));
                return transport.wait(leaving);
            }
            case 2:
                transport.wait(transport.recv(0, token));
                return transport.wait(transport.send(1, token));
        }
    });
}

TEST(MixedTransport, EndsAllItsLinksWithOneReason) {
    const testing::Cluster cluster{.kind = "mixed", .num_ranks = 3};
    const Stopwatch watch;
    const auto errors = run_ranks(cluster, [&](Transport& transport) {
        Data data(8);
        switch (transport.rank()) {
            case 0:
                return transport.wait(transport.recv(1, data));
            case 1:
                transport.set_timeout(Seconds{0.3});
                return transport.wait(transport.recv(2, data));
            case 2:
                return transport.wait(transport.send(0, data));
        }
    });
    EXPECT_EQ(errors[1], "rank 1 receiving 8 bytes from rank 2: timed out after 300 ms");
    EXPECT_EQ(errors[0],
              "rank 0 receiving 8 bytes from rank 1: rank 1 is gone: timed out after 300 ms");
    EXPECT_THAT(errors[2], HasSubstr("rank 0 is gone"));
    EXPECT_LT(watch.seconds(), 10);
}

}  // namespace
}  // namespace rm
