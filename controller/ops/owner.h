#pragma once

#include <string_view>

#include "controller/core/state.h"
#include "service/security/authenticator.h"

namespace rm {

// PERMISSION_DENIED where a submitter wants to `verb` a job of another owner. The job exists.
Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb);

}  // namespace rm
