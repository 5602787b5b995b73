#pragma once

#include <string>

// Tells machines apart. A property that cannot be read is empty.
namespace rm {

// Equal for programs that, as far as can be seen, share their files: one boot of one kernel, under
// one host name (containers have names of their own).
std::string machine_identity();

// Equal for programs that share a loopback interface: one network namespace of one boot.
std::string network_identity();

}  // namespace rm
