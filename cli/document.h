#pragma once

#include <nlohmann/json_fwd.hpp>

#include <ostream>
#include <string>
#include <vector>

// Messages as documents: JSON, or the same as YAML.
namespace google::protobuf {
class Message;
}

namespace rm {

enum class OutputFormat { table, wide, json, yaml, name, csv, svg };
// JSON and YAML, the formats of the functions below.
bool is_document(OutputFormat format);

void print_document(std::ostream& out, const google::protobuf::Message& message,
                    OutputFormat format);
// A list, [] when empty.
void print_documents(std::ostream& out,
                     const std::vector<const google::protobuf::Message*>& messages,
                     OutputFormat format);
// JSON text, as itself (indented) or as YAML.
void print_json(std::ostream& out, const std::string& json, OutputFormat format);

template <typename T>
void print_documents(std::ostream& out, const std::vector<T>& messages, OutputFormat format) {
    std::vector<const google::protobuf::Message*> pointers;
    for (const T& message : messages)
        pointers.push_back(&message);
    print_documents(out, pointers, format);
}

// A message for scripts: keys in the order of the declaration, as in the JSON of protobuf; integers
// as numbers, also those of 64 bits; states and other enum values as in the tables ("running", not
// JOB_STATE_RUNNING); maps sorted by key, so that two calls compare; an absent message or optional
// value has no key.
nlohmann::ordered_json message_json(const google::protobuf::Message& message);

}  // namespace rm
