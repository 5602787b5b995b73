#pragma once

#include <memory>
#include <string>

#include "controller/store/space_guard.h"
#include "controller/store/store.h"

namespace rm {

// control.db: WAL, synchronous=FULL. Forward-only migrations, each preceded by a backup file; a
// newer database is refused untouched (FAILED_PRECONDITION). A commit that finds the disk full
// is tried again with the space of the write-ahead log, then with that of `space`'s reserve.
Result<std::unique_ptr<Store>> open_control_store(const std::string& path,
                                                  SpaceGuard* space = nullptr);

// The whole event log, oldest first; a connection of its own.
Result<std::vector<Event>> read_events(const std::string& path);

}  // namespace rm
