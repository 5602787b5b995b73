#include "cli/document.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/time_util.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/format.h"
#include "cli/show/text.h"

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

void print(std::ostream& out, const Json& value, OutputFormat format) {
    if (format == OutputFormat::json) {
        out << escaped_c1(value.dump(2)) << '\n';
        return;
    }
    YAML::Emitter emitter;
    emit(emitter, value);
    out << emitter.c_str() << '\n';
}

namespace proto = google::protobuf;
using Json = nlohmann::ordered_json;
using Field = proto::FieldDescriptor;

std::string upper_snake(const std::string& camel) {
    std::string out;
    for (const char c : camel) {
        if (std::isupper(static_cast<unsigned char>(c)) != 0 && !out.empty()) out += '_';
        out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return out;
}

// JOB_STATE_RUNNING of JobState becomes running; an unknown value of a newer controller its number.
Json word_of(const proto::EnumDescriptor& type, int number) {
    const proto::EnumValueDescriptor* value = type.FindValueByNumber(number);
    if (value == nullptr) return number;
    return lower_without(upper_snake(type.name()) + "_", value->name());
}

// JSON cannot express these numbers; like protobuf, writes them as strings.
Json number_of(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

class Reader {
    static constexpr int kSingle = -1;

    template <typename Single, typename Item>
    auto get(Single single, Item item, int index) const {
        return index == kSingle ? (look_.*single)(message_, &field_)
                                : (look_.*item)(message_, &field_, index);
    }

public:
    Reader(const proto::Message& message, const Field& field)
        : message_(message), field_(field), look_(*message.GetReflection()) {}

    // The value of a field that is not repeated, or of its item `index`.
    Json value(int index = kSingle) const {
        using Look = proto::Reflection;
        switch (field_.cpp_type()) {
            case Field::CPPTYPE_INT32:
                return get(&Look::GetInt32, &Look::GetRepeatedInt32, index);
            case Field::CPPTYPE_INT64:
                return get(&Look::GetInt64, &Look::GetRepeatedInt64, index);
            case Field::CPPTYPE_UINT32:
                return get(&Look::GetUInt32, &Look::GetRepeatedUInt32, index);
            case Field::CPPTYPE_UINT64:
                return get(&Look::GetUInt64, &Look::GetRepeatedUInt64, index);
            case Field::CPPTYPE_DOUBLE:
                return number_of(get(&Look::GetDouble, &Look::GetRepeatedDouble, index));
            case Field::CPPTYPE_FLOAT:
                return number_of(get(&Look::GetFloat, &Look::GetRepeatedFloat, index));
            case Field::CPPTYPE_BOOL:
                return get(&Look::GetBool, &Look::GetRepeatedBool, index);
            case Field::CPPTYPE_ENUM:
                return word_of(*field_.enum_type(),
                               get(&Look::GetEnumValue, &Look::GetRepeatedEnumValue, index));
            case Field::CPPTYPE_STRING:
                return get(&Look::GetString, &Look::GetRepeatedString, index);
            case Field::CPPTYPE_MESSAGE:
                return message_json(index == kSingle
                                        ? look_.GetMessage(message_, &field_)
                                        : look_.GetRepeatedMessage(message_, &field_, index));
        }
        RM_CHECK(false, "field {} has an unknown type", field_.name());
    }

    Json list() const {
        Json list = Json::array();
        for (int i = 0; i < look_.FieldSize(message_, &field_); ++i)
            list.push_back(value(i));
        return list;
    }

    // Numbers sort numerically: rank 10 comes after rank 9.
    Json map() const {
        std::map<std::pair<std::int64_t, std::string>, Json> sorted;
        for (int i = 0; i < look_.FieldSize(message_, &field_); ++i) {
            const proto::Message& entry = look_.GetRepeatedMessage(message_, &field_, i);
            const proto::Descriptor& type = *entry.GetDescriptor();
            const Json key = Reader(entry, *type.FindFieldByNumber(1)).value();
            const Json value = Reader(entry, *type.FindFieldByNumber(2)).value();
            if (key.is_string()) {
                sorted.emplace(std::pair(0, key.get<std::string>()), value);
            } else {
                sorted.emplace(std::pair(key.get<std::int64_t>(), key.dump()), value);
            }
        }
        Json object = Json::object();
        for (const auto& [key, value] : sorted)
            object[key.second] = value;
        return object;
    }

    bool is_absent() const { return field_.has_presence() && !look_.HasField(message_, &field_); }

private:
    const proto::Message& message_;
    const Field& field_;
    const proto::Reflection& look_;
};

}  // namespace

void print_document(std::ostream& out, const google::protobuf::Message& message,
                    OutputFormat format) {
    print(out, message_json(message), format);
}

bool is_document(OutputFormat format) {
    return format == OutputFormat::json || format == OutputFormat::yaml;
}

void print_json(std::ostream& out, const std::string& json, OutputFormat format) {
    print(out, Json::parse(json), format);
}

void print_documents(std::ostream& out,
                     const std::vector<const google::protobuf::Message*>& messages,
                     OutputFormat format) {
    Json list = Json::array();
    for (const auto* message : messages)
        list.push_back(message_json(*message));
    print(out, list, format);
}

Json message_json(const proto::Message& message) {
    const proto::Descriptor& type = *message.GetDescriptor();
    if (const auto* time = dynamic_cast<const proto::Timestamp*>(&message))
        return proto::util::TimeUtil::ToString(*time);
    Json object = Json::object();
    for (int i = 0; i < type.field_count(); ++i) {
        const Field& field = *type.field(i);
        const Reader reader(message, field);
        if (field.is_map()) {
            object[field.json_name()] = reader.map();
        } else if (field.is_repeated()) {
            object[field.json_name()] = reader.list();
        } else if (!reader.is_absent()) {
            object[field.json_name()] = reader.value();
        }
    }
    return object;
}

}  // namespace rm
