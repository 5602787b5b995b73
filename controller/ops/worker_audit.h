#pragma once

#include <vector>

#include "base/audit.h"
#include "controller/core/outcome.h"

namespace rm {

// Rows of the audit for acts of workers: sessions that begin and end, and jobs taken over from them
// after a restore. The principal is the node, whose certificate was compared.
std::vector<AuditEntry> worker_audit(const Outcome& outcome);

}  // namespace rm
