#pragma once

#include <string>

// Tells machines apart. A property that cannot be read is empty.
namespace rm {

// Equal for programs that, as far as can be seen, share their files: one boot of one kernel, under
// one host name (containers have names of their own).
std::string machine_identity();

// Equal for programs that share a loopback interface: one network namespace of one boot.
std::string network_identity();

// Raises the number of files that this process may have open from the soft to the hard limit: the
// usual soft one (1024) is below what the sessions of a few hundred workers and ranks need.
// Processes that it starts inherit it. At the start of every daemon.
void raise_open_files_limit();

}  // namespace rm
