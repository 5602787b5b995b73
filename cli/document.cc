#include "cli/document.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/check.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const google::protobuf::Message& message) {
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    std::string text;
    const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
    RM_CHECK(status.ok(), "a message does not print as JSON: {}", status.ToString());
    return Json::parse(text);
}

// Strings are always quoted: "007" and "no" stay strings for whoever reads it.
void emit(YAML::Emitter& out, const Json& value) {
    if (value.is_object()) {
        out << YAML::BeginMap;
        for (const auto& [key, item] : value.items()) {
            out << YAML::Key << key << YAML::Value;
            emit(out, item);
        }
        out << YAML::EndMap;
    } else if (value.is_array()) {
        if (value.empty()) out << YAML::Flow;
        out << YAML::BeginSeq;
        for (const Json& item : value)
            emit(out, item);
        out << YAML::EndSeq;
    } else if (value.is_string()) {
        out << YAML::DoubleQuoted << value.get<std::string>();
    } else {
        out << value.dump();
    }
}

void print(std::ostream& out, const Json& value, DocumentFormat format) {
    if (format == DocumentFormat::json) {
        out << value.dump(2) << '\n';
        return;
    }
    YAML::Emitter emitter;
    emit(emitter, value);
    out << emitter.c_str() << '\n';
}

}  // namespace

void print_document(std::ostream& out, const google::protobuf::Message& message,
                    DocumentFormat format) {
    print(out, to_json(message), format);
}

void print_json(std::ostream& out, const std::string& json, DocumentFormat format) {
    print(out, Json::parse(json), format);
}

void print_documents(std::ostream& out,
                     const std::vector<const google::protobuf::Message*>& messages,
                     DocumentFormat format) {
    Json list = Json::array();
    for (const auto* message : messages)
        list.push_back(to_json(*message));
    print(out, list, format);
}

}  // namespace rm
