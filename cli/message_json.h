#pragma once

#include <nlohmann/json_fwd.hpp>

namespace google::protobuf {
class Message;
}

namespace rm {

// A message as people script with it: keys in the order of the declaration, as in the JSON of
// protobuf; whole numbers as numbers, also those of 64 bits; states and other words as the tables
// have them ("running", not JOB_STATE_RUNNING); maps sorted by their keys, so that two calls
// compare; a message or optional value that is absent has no key.
nlohmann::ordered_json message_json(const google::protobuf::Message& message);

}  // namespace rm
