#pragma once

#include <memory>
#include <span>
#include <string>

#include "controller/store/space_guard.h"
#include "controller/store/sqlite.h"
#include "controller/store/store.h"

namespace rm {

// Migrations, oldest first; never changed once released. The tables of control.db get new columns
// without one: see open_migrated().
std::span<const char* const> control_migrations();
std::span<const char* const> telemetry_migrations();

// The tables of control.db, with the columns of core/columns.h.
Schema control_schema();

// control.db: WAL, synchronous=FULL, brought up to date as by open_migrated(). A commit that finds
// the disk full is tried again with the space of the write-ahead log, then with that of `space`'s
// reserve.
Result<std::unique_ptr<Store>> open_control_store(const std::string& path,
                                                  SpaceGuard* space = nullptr);

}  // namespace rm
