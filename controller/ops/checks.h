#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "controller/core/state.h"
#include "service/security/authenticator.h"

// Checks of what a caller asks for.
namespace rm {

// Checks all fields of a caller's message: INVALID_ARGUMENT names a field whose text is longer than
// a path may be or holds a NUL, whose list has more than 4,096 entries, or whose number is not
// finite or beyond 2^53, which JSON cannot carry. `yaml` has a rule of its own.
Status check_message(const google::protobuf::Message& message);

// INVALID_ARGUMENT: it is empty or longer than 128 bytes. Each `what` needs a new one.
Status check_request_id(const std::string& id, std::string_view what);

// PERMISSION_DENIED where a submitter wants to `verb` a job of another owner. The job exists.
Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb);

// PERMISSION_DENIED if it is more than the caller may ask for: without a limit a caller could put
// all other callers' jobs behind its own.
Status check_priority(int priority, const Principal& caller);
constexpr int kMostPriority = 100;  // of callers that are not admins

// Names what a submitter should look at, though the job is accepted: a kind of device that no node
// has ever offered, gone or not. A cluster without nodes gives no warnings.
std::vector<std::string> warnings_about(const State& state, const JobSpec& spec);

}  // namespace rm
