#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace rm {

// What a worker remembers of itself in its state directory.
struct Identity {
    NodeId node;        // made at the first start; cloned machines differ by it
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    bool operator==(const Identity&) const = default;
};

// Makes and keeps a new one when the file is missing; DATA_LOSS when it cannot be read, for a
// worker that forgets its highest epoch is not fenced any more.
Result<Identity> load_identity(const std::string& path);
Status save_identity(const std::string& path, const Identity& identity);  // durable when OK

}  // namespace rm
