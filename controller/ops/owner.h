#pragma once

#include <string_view>

#include "controller/core/state.h"
#include "service/security/authenticator.h"

namespace rm {

// PERMISSION_DENIED where a submitter wants to `verb` a job of another owner. The job exists.
Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb);

// PERMISSION_DENIED if it is more than the caller may ask for: without a limit a caller could put
// all other callers' jobs behind its own.
Status check_priority(int priority, const Principal& caller);
constexpr int kMostPriority = 100;  // of callers that are not admins

}  // namespace rm
