#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// Where a rank is; every rank publishes it, so that those of one node find each other.
struct Place {
    std::string address;  // at which it listens for other nodes
    std::string user;     // whose process it is
    std::string door;     // the name of its socket for ranks of its node
    std::string secret;   // a caller says it: names of sockets are no secret on a node
};

// One line, four words.
std::string encode_place(const Place& place);
Result<Place> decode_place(std::string_view blob);

// Ranks at one address are on one machine and in one network namespace, where sockets without a
// file find each other; another user's memory stays closed.
bool on_one_node(const Place& a, const Place& b);

}  // namespace rm
