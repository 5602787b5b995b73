#pragma once

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

class InjectedFault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Faults planted on purpose, by name: "checkpoint.rename@2,transport.send" fires the second time
// the first point is passed, and every time the second is. Owned by main() (RM_FAULTS) or a test
// and passed to the code that checks it. Thread safe.
class Faults {
public:
    Faults() = default;
    static Result<std::map<std::string, int>> parse(std::string_view text);
    explicit Faults(std::map<std::string, int> points) : points_(std::move(points)) {}

    bool fires(std::string_view point);
    // Throws InjectedFault when the point fires.
    void pass(std::string_view point);

private:
    std::mutex mutex_;
    std::map<std::string, int> points_;  // 0: always; n: the n-th passage
    std::map<std::string, int, std::less<>> passed_;
};

}  // namespace rm
