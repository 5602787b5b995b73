#pragma once

#include <string>

#include "base/check.h"
#include "base/result.h"

namespace rm::test {

// The error of a Result or Status, or "accepted".
template <typename Outcome>
std::string refusal_of(const Outcome& outcome) {
    return outcome ? "accepted" : outcome.error().message;
}

// The message of the CheckError that `run` throws, or "no error".
template <typename Run>
std::string check_error_of(const Run& run) {
    try {
        run();
    } catch (const CheckError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace rm::test
