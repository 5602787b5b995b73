#pragma once

#include <span>

namespace rm {

// Migrations, oldest first; never changed once released. Column names are those of core/columns.h.
std::span<const char* const> control_migrations();
std::span<const char* const> telemetry_migrations();

}  // namespace rm
