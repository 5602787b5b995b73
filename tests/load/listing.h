#pragma once

#include <string>
#include <vector>

namespace rm::load {

struct CallTimes {
    std::string what;
    double median = 0;  // seconds
    double worst = 0;
    int rows = 0;  // of the last reply
};

// The calls behind `ls`, `ls --all`, `history`, `history` by name and its last page; each `repeats`
// times.
std::vector<CallTimes> time_lists(const std::string& address, int repeats);

}  // namespace rm::load
