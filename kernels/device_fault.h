#pragma once

#include <stdexcept>

namespace rm {

// The cause of a StreamError where the device does not answer as it should: its memory is damaged,
// it has left the bus. Another device may do the same work. (Where a device has no more memory the
// cause is std::bad_alloc.)
class DeviceFault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace rm
