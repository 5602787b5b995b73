#pragma once

#include <new>
#include <string>
#include <utility>

namespace rm {

// An allocation that a device or the host refused: how much was asked for, for what.
class OutOfMemory : public std::bad_alloc {
public:
    explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

}  // namespace rm
