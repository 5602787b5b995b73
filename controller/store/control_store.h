#pragma once

#include <memory>
#include <string>

#include "controller/store/space_guard.h"
#include "controller/store/store.h"

namespace rm {

// control.db: WAL, synchronous=FULL. Forward-only migrations, each preceded by a backup file; a
// newer database is refused untouched (FAILED_PRECONDITION). A commit that finds the disk full
// takes the space of `space`'s reserve and is tried again.
Result<std::unique_ptr<Store>> open_control_store(const std::string& path,
                                                  SpaceGuard* space = nullptr);

// The whole event log, oldest first; a connection of its own.
Result<std::vector<Event>> read_events(const std::string& path);

}  // namespace rm
