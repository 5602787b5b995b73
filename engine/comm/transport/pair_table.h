#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// A rank publishes this so that its peers can connect: for each peer, the address at which this
// rank listens for that peer. The blob is, per peer: rank and length as little-endian u32, then the
// bytes.
using PairTable = std::map<int, std::string>;  // peer -> address bytes

std::string encode_pair_table(const PairTable& table);
Result<PairTable> decode_pair_table(std::string_view blob);

}  // namespace rm
