#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Faults on demand. The environment variable RM_STANDIN_NCCL names a JSON file that is read when a
// communicator connects:
//     {"faults": [{"size": 8, "rank": 3, "after": 20, "what": "absent"}]}
// `size` and `rank` choose the communicator and the rank in it; the fault strikes in the call after
// `after` calls. `what`: "absent" (the rank never arrives in that call), "error" (NCCL reports an
// asynchronous error), "slow" (from then on, each call takes `seconds_per_mib`), "unconnected" (the
// rank never connects).
namespace standin {

struct Meeting {
    bool absent = false;
    bool fails = false;
    double seconds = 0;
};

class Faults {
public:
    Faults(int num_ranks, int rank);
    bool never_connects() const;
    // Counts a call, which moves this many bytes.
    Meeting meet(std::size_t bytes);

private:
    struct Fault {
        long after = 0;
        std::string what;
        double seconds_per_mib = 0;
    };
    std::vector<Fault> faults_;
    long num_calls_ = 0;
};

}  // namespace standin
