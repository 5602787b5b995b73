#pragma once

#include <vector>

#include "base/roots.h"
#include "worker/roots/index_hash.h"

namespace rm {

// What this node says about the files of a job: whether each lies below a root and can be read or
// written, what it is, and where there is how much room.
FilesChecked check_files(const std::vector<DeclaredRoot>& roots, const CheckFiles& check,
                         IndexHashes& hashes);

}  // namespace rm
