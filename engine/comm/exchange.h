#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace rm {

// Lets ranks find each other once, before the first step: every rank publishes one blob per group
// and gets the table of all, indexed by rank. Blocks until the last rank has published; after the
// timeout, `deadline_exceeded` names the missing ranks. A group is a short name of
// letters, digits, '-' and '_'. Publishing the same blob again gives the table again.
// Implementations: in one process, through a directory, through the worker (worker/rank).
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                                      Seconds timeout) = 0;
};

// `num_ranks` exchanges of threads of one process.
std::vector<std::unique_ptr<Exchange>> make_local_exchanges(int num_ranks);

// Through files `<directory>/<group>.<rank>`, for ranks that are processes of one machine. The
// directory belongs to one attempt: files of an earlier one would be taken for this one's.
std::unique_ptr<Exchange> make_directory_exchange(std::string directory, int rank, int num_ranks);

}  // namespace rm
