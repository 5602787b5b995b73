#pragma once

namespace rm {

// Raises the number of files that this process may have open from the soft to the hard limit: the
// usual soft one (1024) is below what the sessions of a few hundred workers and ranks need.
// Processes that it starts inherit it. At the start of every daemon.
void raise_open_files_limit();

}  // namespace rm
