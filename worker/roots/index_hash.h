#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "worker/roots/root_paths.h"

namespace rm {

// Names what a job reads, cheaply: XXH3-128 over the files' names, sizes, and their first and last
// 64 KiB (of the first 20,000 files; the rest count by name and size). Two nodes with the same hash
// have the same index files, headers and listings; it finds a wrong copy, not a forged one.
class IndexHashes {
public:
    // Of one file, PREFIX of PREFIX.bin and PREFIX.idx, or every file below a directory but hidden
    // ones. Links lead below a root or it is PERMISSION_DENIED. What has not changed since the last
    // time, as its files' sizes and times say, is not read again.
    Result<std::string> of(const std::vector<DeclaredRoot>& roots, const FoundPath& path);

private:
    struct Known {
        std::string listing;  // a hash of names, sizes, times and inodes
        std::string index;
    };
    std::map<std::string, Known> known_;  // by path
};

}  // namespace rm
