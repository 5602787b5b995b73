#pragma once

#include <vector>

#include "spec/machine/roots.h"
#include "worker/roots/index_hash.h"

namespace rm {

// Checks the files of a job on this node: whether each is below a root and can be read or written,
// its kind, and the free space of each file system.
FilesChecked check_files(const std::vector<DeclaredRoot>& roots, const CheckFiles& check,
                         IndexHashes& hashes);

}  // namespace rm
