#pragma once

#include <stdexcept>
#include <string>

#include "base/format.h"

// Impossible failures: a shape, a broken invariant. RM_CHECK throws, which ends the job but not the
// daemon. Failures that a user or a network can cause are Result<T> (base/result.h).
namespace rm {

class CheckError : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

[[noreturn]] void throw_check_error(const char* file, int line, const char* condition,
                                    const std::string& message);

}  // namespace rm

#define RM_CHECK(condition, ...)                                                                \
    do {                                                                                        \
        if (!(condition)) [[unlikely]]                                                          \
            ::rm::throw_check_error(__FILE__, __LINE__, #condition, ::rm::format(__VA_ARGS__)); \
    } while (false)
