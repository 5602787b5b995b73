#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "worker/roots/root_paths.h"

namespace rm {

// Identifies the input files of a job cheaply: XXH3-128 over the files' names, sizes, and their
// first and last 64 KiB (of the first 20,000 files; the rest count by name and size). Two nodes
// with the same hash have the same index files, headers and listings; it finds a wrong copy, not a
// forged one.
class IndexHashes {
public:
    // Hashes one file, PREFIX of PREFIX.bin and PREFIX.idx, or every file below a directory except
    // hidden ones. PERMISSION_DENIED if a link leads out of the roots. Does not read files again if
    // their sizes and times are unchanged since the last call.
    Result<std::string> of(const std::vector<DeclaredRoot>& roots, const FoundPath& path);

private:
    struct Known {
        std::string listing;  // a hash of names, sizes, times and inodes
        std::string index;
    };
    std::map<std::string, Known> known_;  // by path
};

}  // namespace rm
