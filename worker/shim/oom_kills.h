#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rm {

// Processes that the kernel has killed for lack of memory: counted in the control group of this
// process (memory.events of version 2, memory.oom_control of version 1), or on the whole machine
// (/proc/vmstat) if no group has the count.
class OomKills {
public:
    // Counts from now on, in the first of `files` that has a line "oom_kill N".
    explicit OomKills(const std::vector<std::string>& files);
    OomKills() : OomKills(files_of_this_process()) {}

    // Whether there were any since the construction of this object.
    bool have_risen() const;

    static std::vector<std::string> files_of_this_process();

private:
    std::string file_;  // empty: nothing counts them
    std::int64_t at_first_ = 0;
};

}  // namespace rm
