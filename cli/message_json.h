#pragma once

#include <nlohmann/json_fwd.hpp>

namespace google::protobuf {
class Message;
}

namespace rm {

// A message for scripts: keys in the order of the declaration, as in the JSON of protobuf; integers
// as numbers, also those of 64 bits; states and other enum values as in the tables ("running", not
// JOB_STATE_RUNNING); maps sorted by key, so that two calls compare; an absent message or optional
// value has no key.
nlohmann::ordered_json message_json(const google::protobuf::Message& message);

}  // namespace rm
