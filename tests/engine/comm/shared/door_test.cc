#include "engine/comm/shared/door.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <thread>

#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Stopwatch;

TEST(Place, ComesBackAsItWasSent) {
    const Place sent{"fd00::3", "1000", "door", "secret"};
    const auto place = decode_place(encode_place(sent));
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(encode_place(*place), encode_place(sent));
}

TEST(Place, OfAnotherFormIsAnError) {
    for (const char* blob : {"", "10.0.0.1", "10.0.0.1 0 door", "10.0.0.1 0 door secret more"})
        EXPECT_THAT(decode_place(blob).error().message, HasSubstr(format("'{}' is not", blob)));
}

TEST(Place, IsOnANodeByAddressAndUser) {
    const Place here{"10.0.0.1", "1000", "a", "b"};
    EXPECT_TRUE(on_one_node(here, {"10.0.0.1", "1000", "c", "d"}));
    EXPECT_FALSE(on_one_node(here, {"10.0.0.2", "1000", "c", "d"}));
    EXPECT_FALSE(on_one_node(here, {"10.0.0.1", "1001", "c", "d"}));
}

// A rank before it has met its peers.
struct Newcomer {
    Door door = Door::open().value();
    Box box = Box::make(1).value();
    Place place = door.place("127.0.0.1");

    // Meets the other of two ranks; returns the error.
    std::string meet(int rank, const std::vector<Place>& places, Seconds timeout = Seconds{20}) {
        const TransportOptions options{
            .rank = rank, .num_ranks = 2, .peers = {1 - rank}, .timeout = timeout};
        const auto met = meet_on_node(door, box, places, {1 - rank}, options);
        return met ? "" : met.error().message;
    }
};

UniqueFd call(const Place& place) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(place.door.begin(), place.door.end(), address.sun_path + 1);
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + place.door.size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    return socket;
}

TEST(Door, AnswersThePeerAndNoStranger) {
    Newcomer first, second, stranger;
    const std::vector<Place> places = {first.place, second.place};
    std::thread meeting([&] { EXPECT_EQ(first.meet(0, places), ""); });
    const UniqueFd silent = call(first.place);
    const UniqueFd talker = call(first.place);
    EXPECT_EQ(::send(talker.get(), "let me in", 9, MSG_NOSIGNAL), 9);
    call(first.place);  // hangs up
    // It says all that a peer says, but not the secret.
    std::vector<Place> guessed = {first.place, stranger.place};
    guessed[0].secret = std::string(first.place.secret.size(), '0');
    EXPECT_THAT(stranger.meet(1, guessed), HasSubstr("could not connect to rank 0"));
    char byte = 0;
    EXPECT_EQ(::recv(talker.get(), &byte, 1, 0), 0) << "the rank hangs up";
    EXPECT_EQ(second.meet(1, places), "");
    meeting.join();
}

TEST(Door, NamesThePeerThatDoesNotCall) {
    Newcomer first, second;
    const Stopwatch watch;
    EXPECT_THAT(first.meet(0, {first.place, second.place}, Seconds{0.3}),
                HasSubstr("waited 300 ms for rank 1 at its own address, 127.0.0.1"));
    EXPECT_LT(watch.seconds(), 5);
}

TEST(Door, NamesThePeerThatHasLeft) {
    Newcomer second;
    std::vector<Place> places = {Newcomer().place, second.place};
    const Stopwatch watch;
    EXPECT_THAT(second.meet(1, places),
                AllOf(HasSubstr("could not connect to rank 0 at its own address, 127.0.0.1: "),
                      HasSubstr("Connection refused"),
                      HasSubstr("or another machine has the same address")));
    EXPECT_LT(watch.seconds(), 5);
}

}  // namespace
}  // namespace rm
