#pragma once

#include <google/protobuf/message.h>

#include "base/result.h"

namespace rm {

// Checks all fields of a caller's message: INVALID_ARGUMENT names a field whose text is longer than
// a path may be or holds a NUL, whose list has more than 4,096 entries, or whose number is not
// finite or beyond 2^53, which JSON cannot carry. `yaml` has a rule of its own.
Status check_message(const google::protobuf::Message& message);

}  // namespace rm
