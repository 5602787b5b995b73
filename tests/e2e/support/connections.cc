#include "tests/e2e/support/connections.h"

namespace rm::e2e {
namespace {

std::string without_port(const Json& end) {
    const std::string text = end;
    return text.substr(0, text.rfind(':'));
}

// Addresses as sockets on this machine report them: over loopback a client connects from 127.0.0.1,
// and only the other end has the listening address.
void expect_ends(const Json& connection, const std::string& own, const std::string& other) {
    const bool own_is = without_port(connection.at("own")) == own;
    const bool other_is = without_port(connection.at("other")) == other;
    const bool loopback = own.starts_with("127.");
    EXPECT_TRUE(loopback ? own_is || other_is : own_is && other_is)
        << connection.dump() << " should be from " << own << " to " << other;
}

}  // namespace

void expect_ring_as_placed(const std::function<Json()>& show,
                           const std::map<std::string, std::string>& addresses) {
    Json attempt;
    const bool all_said = wait_until(Seconds{20}, [&] {
        attempt = show().at("attempts").at(0);
        return attempt.value("connections", Json()).size() == attempt.at("placement").size();
    });
    ASSERT_TRUE(all_said) << attempt.dump(2);
    const Json& placement = attempt.at("placement");
    const Json& said = attempt.at("connections");
    const std::size_t size = placement.size();
    const auto address = [&](std::size_t rank) {
        return addresses.at(placement.at(rank).at("nodeId"));
    };
    const auto connection = [&](std::size_t rank, std::size_t peer) -> const Json& {
        return said.at(std::to_string(rank)).at("peers").at(std::to_string(peer));
    };
    for (std::size_t rank = 0; rank < size; ++rank) {
        SCOPED_TRACE("rank " + std::to_string(rank) + " of " + said.dump(2));
        const std::size_t next = (rank + 1) % size;
        const Json& own = said.at(std::to_string(rank));
        EXPECT_EQ(own.at("address"), address(rank));
        EXPECT_EQ(own.at("rings").at("ring").at("sendsTo"), next);
        EXPECT_EQ(own.at("rings").at("ring").at("receivesFrom"), (rank + size - 1) % size);
        expect_ends(connection(rank, next), address(rank), address(next));
        EXPECT_EQ(connection(rank, next).at("own"), connection(next, rank).at("other"));
        EXPECT_EQ(connection(rank, next).at("other"), connection(next, rank).at("own"));
    }
}

}  // namespace rm::e2e
