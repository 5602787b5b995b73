#include "engine/comm/transport/transport.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <thread>

#include "base/random.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using ::testing::AllOf;
using testing::Cluster;
using ::testing::HasSubstr;
using testing::run_all;
using testing::run_ranks;
using testing::Stopwatch;

using Data = std::vector<std::byte>;

Data pattern(std::size_t size, std::uint64_t seed) {
    Data data(size);
    for (std::size_t i = 0; i < size; ++i)
        data[i] = static_cast<std::byte>(mix64(seed + i / 8) >> (i % 8));
    return data;
}

class Transports : public ::testing::TestWithParam<std::string> {
protected:
    Cluster cluster(int num_ranks) const { return {.kind = GetParam(), .num_ranks = num_ranks}; }
};

TEST_P(Transports, KnowWhoTheyAre) {
    std::atomic<int> ranks{0};
    run_all(cluster(3), [&](Transport& transport) {
        EXPECT_EQ(transport.name(), GetParam() == "local" ? "local" : "gloo");
        EXPECT_EQ(transport.num_ranks(), 3);
        ranks += 1 << transport.rank();
    });
    EXPECT_EQ(ranks, 0b111);
}

TEST_P(Transports, DeliverTheMessagesOfAPairInOrder) {
    constexpr std::size_t kMessages = 100;
    run_all(cluster(2), [&](Transport& transport) {
        const int peer = 1 - transport.rank();
        std::vector<Data> sent;
        std::vector<Data> received;
        std::vector<MessageHandle> handles;
        for (std::size_t i = 0; i < kMessages; ++i) {
            sent.push_back(pattern(i % 7, i));
            received.emplace_back(i % 7);
        }
        for (std::size_t i = 0; i < kMessages; ++i)
            handles.push_back(transport.send(peer, sent[i]));
        for (std::size_t i = 0; i < kMessages; ++i) {
            handles.push_back(transport.recv(peer, received[i]));
        }
        std::reverse(handles.begin(), handles.end());
        for (const auto& handle : handles)
            transport.wait(handle);
        EXPECT_EQ(received, sent);
    });
}

TEST_P(Transports, CarryLargeMessagesBothWaysAtOnce) {
    run_all(cluster(2), [&](Transport& transport) {
        const int peer = 1 - transport.rank();
        const Data sent = pattern(20 << 20, static_cast<std::uint64_t>(transport.rank()));
        Data received(sent.size());
        const auto arriving = transport.recv(peer, received);
        const auto leaving = transport.send(peer, sent);
        transport.wait(leaving);
        transport.wait(arriving);
        EXPECT_TRUE(received == pattern(sent.size(), static_cast<std::uint64_t>(peer)));
    });
}

TEST_P(Transports, CountBytesAndTimeOfFinishedMessages) {
    run_all(cluster(2), [&](Transport& transport) {
        Data data(1000);
        if (transport.rank() == 0) {
            transport.wait(transport.send(1, data));
            transport.wait(transport.recv(1, std::span(data).first(10)));
            EXPECT_EQ(transport.bytes_sent(), 1000);
            EXPECT_EQ(transport.bytes_received(), 10);
            EXPECT_GT(transport.waited().value, 0.03);
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            transport.wait(transport.recv(0, data));
            transport.wait(transport.send(0, std::span(data).first(10)));
        }
    });
}

// Sends random sizes in random order over all pairs; the receiver derives both from the seed.
TEST_P(Transports, SurviveRandomTraffic) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    constexpr int kRanks = 4;
    constexpr std::size_t kMessages = 60;
    Cluster all_to_all = cluster(kRanks);
    all_to_all.peers = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
    const auto content = [&](int from, int to, std::size_t i) {
        const auto stream = static_cast<std::uint64_t>(from * kRanks + to);
        const std::uint64_t r = random_at(seed, stream, i);
        return pattern(r % 5 == 0 ? r % 100'000 : r % 100, r);
    };
    run_all(all_to_all, [&](Transport& transport) {
        const int me = transport.rank();
        Rng rng(seed + static_cast<std::uint64_t>(me));
        std::vector<std::vector<Data>> sent(kRanks);
        std::vector<std::vector<Data>> received(kRanks);
        std::vector<MessageHandle> handles;
        for (std::size_t i = 0; i < kMessages; ++i) {
            for (int peer = 0; peer < kRanks; ++peer) {
                if (peer == me) continue;
                auto& out = sent[peer].emplace_back(content(me, peer, i));
                auto& in = received[peer].emplace_back(content(peer, me, i).size());
                handles.push_back(transport.send(peer, out));
                handles.push_back(transport.recv(peer, in));
            }
        }
        std::shuffle(handles.begin(), handles.end(), rng);
        for (const auto& handle : handles)
            transport.wait(handle);
        for (int peer = 0; peer < kRanks; ++peer) {
            for (std::size_t i = 0; i < received[peer].size(); ++i) {
                ASSERT_TRUE(received[peer][i] == content(peer, me, i)) << peer << " " << i;
            }
        }
    });
}

TEST_P(Transports, TimeOutNamingThePeerAndStayEnded) {
    Cluster impatient = cluster(2);
    impatient.timeout = Seconds{0.3};
    std::latch done(2);
    const auto errors = run_ranks(impatient, [&](Transport& transport) {
        Data data(64);
        if (transport.rank() == 0) {
            const Stopwatch watch;
            const auto handle = transport.recv(1, data);
            EXPECT_THROW(transport.wait(handle), TransportError);
            EXPECT_LT(watch.seconds(), 5);
            done.arrive_and_wait();
            transport.wait(transport.recv(1, data));
        } else {
            done.arrive_and_wait();
        }
    });
    EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 0"), HasSubstr("timed out after 300 ms")));
}

TEST_P(Transports, SayWhichPeerIsGone) {
    for (const bool sends : {false, true}) {
        const Stopwatch watch;
        const auto errors = run_ranks(cluster(2), [&](Transport& transport) {
            Data data(64);
            if (transport.rank() == 1) return;
            transport.wait(sends ? transport.send(1, data) : transport.recv(1, data));
        });
        EXPECT_THAT(errors[0],
                    HasSubstr(sends ? "rank 0 sending 64 bytes to rank 1: rank 1 is gone"
                                    : "rank 0 receiving 64 bytes from rank 1: rank 1 is gone"));
        EXPECT_LT(watch.seconds(), 10);
    }
}

TEST_P(Transports, KeepWhatArrivedBeforeThePeerLeft) {
    std::latch left(1);
    run_all(cluster(3), [&](Transport& transport) {
        Data data = pattern(1000, 1);
        if (transport.rank() == 1) {
            transport.wait(transport.send(0, data));
        } else if (transport.rank() == 0) {
            Data received(1000);
            const auto handle = transport.recv(1, received);
            left.wait();
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            transport.wait(handle);
            EXPECT_EQ(received, data);
            transport.wait(transport.send(2, data));
        } else {
            left.count_down();
            transport.wait(transport.recv(0, data));
        }
    });
}

TEST_P(Transports, AbortWakesTheWaitingThreadAndItsPeers) {
    std::latch waiting(2);
    const Stopwatch watch;
    const auto errors = run_ranks(cluster(2), [&](Transport& transport) {
        Data data(64);
        const auto handle = transport.recv(1 - transport.rank(), data);
        std::jthread aborter;
        if (transport.rank() == 0) {
            aborter = std::jthread([&] {
                waiting.wait();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                transport.abort("the operator said so");
            });
        }
        waiting.count_down();
        transport.wait(handle);
    });
    EXPECT_LT(watch.seconds(), 10);
    EXPECT_THAT(errors[0], HasSubstr("the operator said so"));
    EXPECT_THAT(errors[1], HasSubstr("rank 0 is gone"));
}

TEST_P(Transports, AbortIsSeenByPeersEvenWhenNobodyWaitsHere) {
    std::latch seen(1);
    const auto errors = run_ranks(cluster(2), [&](Transport& transport) {
        Data data(64);
        if (transport.rank() == 0) {
            transport.abort("first reason");
            transport.abort("second reason");
            seen.wait();
            transport.wait(transport.send(1, data));
        } else {
            const auto handle = transport.recv(0, data);
            EXPECT_THROW(transport.wait(handle), TransportError);
            seen.count_down();
        }
    });
    EXPECT_THAT(errors[0], HasSubstr("first reason"));
}

TEST_P(Transports, CanBeDestroyedWithMessagesInFlight) {
    const Stopwatch watch;
    // The memory of a message in flight outlives the transport.
    std::vector<Data> in(2, Data(1 << 20));
    const Data out = pattern(100, 1);
    // The second rank may find the first gone; both calls must end.
    (void)run_ranks(cluster(2), [&](Transport& transport) {
        const int peer = 1 - transport.rank();
        (void)transport.recv(peer, in[static_cast<std::size_t>(peer)]);
        (void)transport.send(peer, out);  // shorter than what the peer expects
    });
    EXPECT_LT(watch.seconds(), 10);
}

// A rank must connect even if its peer has connected and left already.
TEST_P(Transports, ConnectThoughAPeerIsDoneAtOnce) {
    for (int round = 0; round < 10; ++round) {
        run_all(cluster(3), [&](Transport& transport) { EXPECT_EQ(transport.bytes_sent(), 0); });
    }
}

TEST_P(Transports, FailWherePlanted) {
    for (const char* point : {"transport.send", "transport.recv"}) {
        Faults faults({{point, 2}});
        Cluster faulty = cluster(2);
        faulty.faults = &faults;
        const auto errors = run_ranks(faulty, [&](Transport& transport) {
            Data in(8);
            const Data out(8);
            for (int i = 0; i < 2; ++i) {
                const auto arriving = transport.recv(1 - transport.rank(), in);
                const auto leaving = transport.send(1 - transport.rank(), out);
                transport.wait(arriving);
                transport.wait(leaving);
            }
        });
        EXPECT_THAT(errors[0], HasSubstr(format("injected fault at {}", point)));
        EXPECT_THAT(errors[1], HasSubstr("rank 0 is gone"));
    }
}

TEST_P(Transports, TalkToPeersOnly) {
    const auto errors = run_ranks(cluster(4), [&](Transport& transport) {
        Data data(8);
        (void)transport.send((transport.rank() + 2) % 4, data);
    });
    EXPECT_THAT(errors[3], HasSubstr("rank 3 talks to rank 1, which is not one of its 2 peers"));
}

INSTANTIATE_TEST_SUITE_P(, Transports, ::testing::ValuesIn(testing::transport_kinds()),
                         [](const auto& info) { return info.param; });

TEST(LocalTransport, TellsBothSidesOfDifferentLengths) {
    const auto errors = run_ranks({.num_ranks = 2}, [&](Transport& transport) {
        Data data(8);
        if (transport.rank() == 0) {
            transport.wait(transport.send(1, data));
        } else {
            transport.wait(transport.recv(0, std::span(data).first(4)));
        }
    });
    for (const auto& error : errors) {
        EXPECT_THAT(error,
                    ::testing::AnyOf(HasSubstr("rank 0 sends 8 bytes where rank 1 expects 4"),
                                     HasSubstr("is gone")));
    }
    EXPECT_THAT(errors[0] + errors[1], HasSubstr("expects 4"));
}

TEST(LocalLinks, BringEveryMessageLate) {
    run_all({.num_ranks = 2, .links = {Seconds{0.05}}}, [&](Transport& transport) {
        const Data sent = pattern(1000, 1);
        Data received(1000);
        for (int round = 0; round < 2; ++round) {
            const Stopwatch watch;
            const auto arriving = transport.recv(1 - transport.rank(), received);
            const auto leaving = transport.send(1 - transport.rank(), sent);
            transport.wait(arriving);
            EXPECT_GE(watch.seconds(), 0.05);
            transport.wait(leaving);
            EXPECT_EQ(received, sent);
        }
    });
}

// One after the other, the messages would take ten times the limit.
TEST(LocalLinks, CarryMessagesBesideEachOther) {
    constexpr std::size_t kMessages = 100;
    Cluster triangle{.num_ranks = 3, .links = {Seconds{0.1}}};
    run_all(triangle, [&](Transport& transport) {
        const int next = (transport.rank() + 1) % 3;
        const int previous = (transport.rank() + 2) % 3;
        Data out(8), in(8 * kMessages);
        std::vector<MessageHandle> handles;
        const Stopwatch watch;
        for (std::size_t i = 0; i < kMessages; ++i) {
            handles.push_back(transport.recv(previous, std::span(in).subspan(8 * i, 8)));
            handles.push_back(transport.send(next, out));
        }
        for (const auto& handle : handles)
            transport.wait(handle);
        EXPECT_LT(watch.seconds(), 1);
    });
}

TEST(LocalLinks, BringWhatWasOnItsWayWhenThePeerLeft) {
    std::latch expected(1);
    run_all({.num_ranks = 2, .links = {Seconds{0.1}}}, [&](Transport& transport) {
        const Data sent = pattern(1000, 1);
        if (transport.rank() == 0) {
            expected.wait();
            (void)transport.send(1, sent);
        } else {
            Data received(1000);
            const auto arriving = transport.recv(0, received);
            expected.count_down();
            transport.wait(arriving);
            EXPECT_EQ(received, sent);
        }
    });
}

TEST(LocalLinks, DoNotKeepARankThatWasAborted) {
    std::latch posted(2);
    const Cluster slow{.num_ranks = 2, .timeout = Seconds{0.3}, .links = {Seconds{3600}}};
    const auto errors = run_ranks(slow, [&](Transport& transport) {
        Data data(8);
        const auto handle =
            transport.rank() == 0 ? transport.send(1, data) : transport.recv(0, data);
        posted.arrive_and_wait();
        if (transport.rank() == 0) transport.abort("the operator said so");
        transport.wait(handle);
    });
    EXPECT_THAT(errors[0], HasSubstr("the operator said so"));
    EXPECT_THAT(errors[1], HasSubstr("timed out after 300 ms"));
}

TEST(LocalTransport, RefusesToTalkToItself) {
    const TransportOptions options{.rank = 1, .num_ranks = 2, .peers = {1}};
    EXPECT_THROW(make_local_transport(make_local_hub(2), options), CheckError);
}

}  // namespace
}  // namespace rm
