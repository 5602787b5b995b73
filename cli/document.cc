#include "cli/document.h"

#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/format.h"
#include "cli/message_json.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

// C1 control characters, which a terminal obeys, as \u escapes like those of C0. They are bytes of
// texts only.
std::string escaped_c1(const std::string& json) {
    std::string out;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const auto second = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : 0);
        const bool is_c1 = json[i] == '\xc2' && second >= 0x80 && second < 0xa0;
        if (is_c1) {
            out += format("\\u00{:02x}", static_cast<unsigned>(second));
            ++i;
        } else if (json[i] == '\x7f') {
            out += "\\u007f";
        } else {
            out += json[i];
        }
    }
    return out;
}

// Strings are always quoted: "007" and "no" stay strings for every reader.
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
        out << escaped_c1(value.dump(2)) << '\n';
        return;
    }
    YAML::Emitter emitter;
    emit(emitter, value);
    out << emitter.c_str() << '\n';
}

}  // namespace

void print_document(std::ostream& out, const google::protobuf::Message& message,
                    DocumentFormat format) {
    print(out, message_json(message), format);
}

DocumentFormat document_format(OutputFormat output) {
    return output == OutputFormat::json ? DocumentFormat::json : DocumentFormat::yaml;
}

void print_json(std::ostream& out, const std::string& json, DocumentFormat format) {
    print(out, Json::parse(json), format);
}

void print_documents(std::ostream& out,
                     const std::vector<const google::protobuf::Message*>& messages,
                     DocumentFormat format) {
    Json list = Json::array();
    for (const auto* message : messages)
        list.push_back(message_json(*message));
    print(out, list, format);
}

}  // namespace rm
