#pragma once

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/exchange.h"
#include "engine/comm/nccl/api.h"

namespace rm::nccl {

// The groups of one rank that have a communicator of their own: the first key of each set of ranks.
struct OwnGroup {
    GroupKey key;
    Group group;
    UniqueId id;
};
std::vector<OwnGroup> own_groups(const Mesh& mesh, int rank);

// Fills in the ids: makes those of the groups that this rank leads and learns the others. Throws
// TransportError.
void exchange_ids(const Api& api, Exchange& exchange, int rank, Seconds timeout,
                  std::vector<OwnGroup>& groups);

// Throws a TransportError with NCCL's own words, unless the call succeeded.
void check(const Api& api, int code, std::string_view what);

}  // namespace rm::nccl
