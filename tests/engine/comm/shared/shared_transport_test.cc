// Ranks of one node, over shared memory, beyond what every transport does.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <latch>
#include <thread>

#include "engine/comm/shared/box.h"
#include "engine/comm/shared/place.h"
#include "engine/comm/transport/transport.h"
#include "spec/report.h"
#include "tests/engine/comm/cluster.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using testing::run_all;
using testing::run_ranks;
using testing::Stopwatch;

using Data = std::vector<std::byte>;

constexpr std::size_t kMoreThanARing = 10 * Box::kRingBytes;

TEST(SharedTransport, SaysWhatItIsAndNamesItsPeers) {
    run_all({.kind = "shared", .num_ranks = 3}, [](Transport& transport) {
        EXPECT_EQ(transport.description(), "shared memory");
        EXPECT_EQ(transport.address(), "127.0.0.1");
        const auto connections = transport.connections();
        ASSERT_EQ(connections.size(), 2u);
        EXPECT_EQ(connections[0].peer, transport.rank() == 0 ? 1 : 0);
        EXPECT_EQ(connections[1].peer, transport.rank() == 2 ? 1 : 2);
        EXPECT_EQ(connections[0].own, kSharedMemory);
        EXPECT_EQ(connections[1].other, kSharedMemory);
    });
}

TEST(SharedTransport, TellsBothSidesOfDifferentLengths) {
    const Stopwatch watch;
    const auto errors = run_ranks({.kind = "shared", .num_ranks = 2}, [](Transport& transport) {
        Data data(8);
        if (transport.rank() == 0) {
            transport.wait(transport.send(1, data));
        } else {
            transport.wait(transport.recv(0, std::span(data).first(4)));
        }
    });
    EXPECT_EQ(errors[0],
              "rank 0 sending 8 bytes to rank 1: rank 1 is gone: rank 0 sends 8 bytes where rank 1 "
              "expects 4");
    EXPECT_EQ(errors[1],
              "rank 1 receiving 4 bytes from rank 0: rank 0 sends 8 bytes where rank 1 expects 4");
    EXPECT_LT(watch.seconds(), 10);
}

// Every rank has posted more than its rings hold, both ways on two rings of ranks, before it waits
// for any of it.
TEST(SharedTransport, DoesNotLockUpWhereRingsAreFullBothWays) {
    constexpr int kRanks = 5;
    const testing::Cluster cluster{
        .kind = "shared", .num_ranks = kRanks, .peers = testing::all_peers(kRanks)};
    run_all(cluster, [&](Transport& transport) {
        const int me = transport.rank();
        const auto content = [](int from, int hop) {
            return Data(kMoreThanARing + usize(hop), static_cast<std::byte>(16 * from + hop));
        };
        std::vector<Data> sent, received;
        std::vector<MessageHandle> handles;
        for (const int hop : {1, 2, 3, 4}) {
            sent.push_back(content(me, hop));
            received.emplace_back(kMoreThanARing + usize(hop));
        }
        for (const int hop : {1, 2, 3, 4}) {
            const auto i = usize(hop - 1);
            handles.push_back(transport.send((me + hop) % kRanks, sent[i]));
            handles.push_back(transport.recv((me + kRanks - hop) % kRanks, received[i]));
        }
        for (const MessageHandle handle : handles)
            transport.wait(handle);
        for (const int hop : {1, 2, 3, 4}) {
            const int from = (me + kRanks - hop) % kRanks;
            EXPECT_TRUE(received[usize(hop - 1)] == content(from, hop)) << from;
        }
    });
}

// A sleeper that its peer forgets to wake sleeps for 100 ms: a hundred of those take ten seconds.
TEST(SharedTransport, WakesASenderWhoseRingWasFull) {
    constexpr int kMessages = 200;
    const Stopwatch watch;
    run_all({.kind = "shared", .num_ranks = 2}, [](Transport& transport) {
        Data data(Box::kRingBytes / 2);
        std::vector<MessageHandle> sends;
        for (int i = 0; i < kMessages; ++i) {
            if (transport.rank() == 0) {
                sends.push_back(transport.send(1, data));
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the sender sleeps
                transport.wait(transport.recv(0, data));
            }
        }
        std::reverse(sends.begin(), sends.end());  // it waits for the last, and for room
        for (const MessageHandle handle : sends)
            transport.wait(handle);
    });
    EXPECT_LT(watch.seconds(), 5);
}

TEST(SharedTransport, WakesASenderWhoseMessageWasTakenLate) {
    const Stopwatch watch;
    run_all({.kind = "shared", .num_ranks = 2}, [](Transport& transport) {
        Data data(100);
        for (int i = 0; i < 100; ++i) {
            if (transport.rank() == 0) {
                transport.wait(transport.send(1, data));
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the sender sleeps
                transport.wait(transport.recv(0, data));
            }
        }
    });
    EXPECT_LT(watch.seconds(), 5);
}

TEST(SharedTransport, LeavesTheBytesThatItsPeerStillReads) {
    run_all({.kind = "shared", .num_ranks = 2}, [&](Transport& transport) {
        const Data data(Box::kRingBytes / 2, std::byte{5});
        if (transport.rank() == 0) {
            (void)transport.send(1, data);  // goes into the ring at once
            return;
        }
        Data received(data.size());
        // The sender is being destroyed, or is gone already.
        transport.wait(transport.recv(0, received));
        EXPECT_TRUE(received == data);
    });
}

TEST(SharedTransport, FailsWhenTheSenderIsDestroyedInTheMiddleOfAMessage) {
    const Stopwatch watch;
    const Data data(kMoreThanARing);
    const auto errors = run_ranks({.kind = "shared", .num_ranks = 2}, [&](Transport& transport) {
        if (transport.rank() == 0) {
            (void)transport.send(1, data);
            return;
        }
        Data received(data.size());
        transport.wait(transport.recv(0, received));
    });
    EXPECT_THAT(errors[1], HasSubstr("rank 0 is gone: its transport was closed"));
    EXPECT_LT(watch.seconds(), 10);
}

// A thread aborts while the rank is deep in messages that both sides move.
TEST(SharedTransport, AbortsAmidstMessagesWithinASecond) {
    std::latch waiting(2);
    Stopwatch aborted;
    const auto errors = run_ranks({.kind = "shared", .num_ranks = 2}, [&](Transport& transport) {
        const int peer = 1 - transport.rank();
        Data in(kMoreThanARing), out(kMoreThanARing);
        std::jthread aborter;
        waiting.arrive_and_wait();
        if (transport.rank() == 0) {
            aborter = std::jthread([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                aborted = Stopwatch();
                transport.abort("the operator said so");
            });
        }
        while (true) {
            const auto arriving = transport.recv(peer, in);
            const auto leaving = transport.send(peer, out);
            transport.wait(arriving);
            transport.wait(leaving);
        }
    });
    EXPECT_LT(aborted.seconds(), 1);
    EXPECT_THAT(errors[0], HasSubstr("the operator said so"));
    EXPECT_THAT(errors[1], HasSubstr("rank 0 is gone: the operator said so"));
}

// Rank 2 publishes where it is and then calls at no door: rank 1 fails after it has met rank 0.
TEST(SharedTransport, SaysToThoseWhomItHasMetWhyItCouldNotMeetAll) {
    const auto exchanges = make_local_exchanges(3);
    const auto connect = [&](int rank, std::vector<int> peers, Seconds timeout) {
        return make_gloo_transport(
            "127.0.0.1", *exchanges[usize(rank)],
            {.rank = rank, .num_ranks = 3, .peers = std::move(peers), .timeout = timeout});
    };
    std::jthread middle([&] { EXPECT_THROW(connect(1, {0, 2}, Seconds{0.5}), TransportError); });
    const std::string far_off = encode_place({"127.0.0.1", std::to_string(geteuid()), "x", "y"});
    std::jthread silent(
        [&] { EXPECT_TRUE(exchanges[2]->exchange("address", far_off, Seconds{20})); });
    const auto transport = connect(0, {1}, Seconds{20});
    Data data(8);
    const MessageHandle handle = transport->recv(1, data);
    try {
        transport->wait(handle);
        ADD_FAILURE() << "rank 1 sends nothing";
    } catch (const TransportError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1 is gone: waited 500 ms for rank 2"));
    }
}

std::size_t num_open_files() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(SharedTransport, LeavesNothingBehind) {
    const std::size_t before = num_open_files();
    for (int turn = 0; turn < 3; ++turn)
        run_all({.kind = "shared", .num_ranks = 4}, [](Transport&) {});
    EXPECT_EQ(num_open_files(), before);
}

// Rank 1 in a process of its own that dies while a long message is on its way.
class KilledPeer : public ::testing::Test {
protected:
    using Post = std::function<MessageHandle(Transport&)>;

    static std::unique_ptr<Transport> connect(const TempDir& dir, int rank) {
        const auto exchange = make_directory_exchange(dir.path(), rank, 2);
        return make_gloo_transport("127.0.0.1", *exchange,
                                   {.rank = rank, .num_ranks = 2, .peers = {1 - rank}});
    }

    [[noreturn]] static void post_and_stop(const TempDir& dir, const Post& post) {
        try {
            const auto transport = connect(dir, 1);
            (void)post(*transport);
            raise(SIGSTOP);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "rank 1: %s\n", error.what());
        }
        _exit(1);
    }

    // Waits for a message that rank 1 has begun; expects to see its death within a second.
    static void expect_seen(const Post& here, const Post& there) {
        const TempDir dir;
        const pid_t child = fork();
        if (child == 0) post_and_stop(dir, there);
        const auto transport = connect(dir, 0);
        waitpid(child, nullptr, WUNTRACED);
        const MessageHandle handle = here(*transport);
        Stopwatch killed;
        std::jthread killer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            killed = Stopwatch();
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        });
        std::string message;
        try {
            transport->wait(handle);
        } catch (const TransportError& error) {
            message = error.what();
        }
        killer.join();
        EXPECT_THAT(message, HasSubstr("rank 1 is gone: its process has ended"));
        EXPECT_LT(killed.seconds(), 1);
    }
};

TEST_F(KilledPeer, IsSeenByTheSenderWithinASecond) {
    static Data in(kMoreThanARing);
    const Data out(kMoreThanARing);
    expect_seen([&](Transport& transport) { return transport.send(1, out); },
                [](Transport& transport) { return transport.recv(0, in); });
}

TEST_F(KilledPeer, IsSeenByTheReceiverWithinASecond) {
    static const Data out(kMoreThanARing);
    Data in(kMoreThanARing);
    expect_seen([&](Transport& transport) { return transport.recv(1, in); },
                [](Transport& transport) { return transport.send(0, out); });
}

}  // namespace
}  // namespace rm
