#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "controller/core/state.h"
#include "service/security/authenticator.h"

// Checks of callers' requests.
namespace rm {

// Checks all fields of a caller's message: INVALID_ARGUMENT names a field whose text is longer than
// a path may be or holds a NUL, whose list has more than 4,096 entries, or whose number is not
// finite or beyond 2^53, which JSON cannot carry. `yaml` has a rule of its own.
Status check_message(const google::protobuf::Message& message);

// INVALID_ARGUMENT: the id is empty or longer than 128 bytes. Each `what` needs a new id.
Status check_request_id(const std::string& id, std::string_view what);

// PERMISSION_DENIED if a submitter wants to `verb` another owner's job. The job must exist.
Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb);

// PERMISSION_DENIED if the priority is above the caller's limit: without one a caller could put
// all other callers' jobs behind its own.
Status check_priority(int priority, const Principal& caller);
constexpr int kMostPriority = 100;  // of callers that are not admins

// Returns warnings about an accepted job, such as a kind of device that no node, gone or not, has
// ever offered. A cluster without nodes gives no warnings.
std::vector<std::string> warnings_about(const State& state, const JobSpec& spec);

}  // namespace rm
