#pragma once

#include <span>

namespace rm {

// Migrations, oldest first; never changed once released. The tables of control.db get new columns
// without one: see open_migrated().
std::span<const char* const> control_migrations();
std::span<const char* const> telemetry_migrations();

}  // namespace rm
