#include "controller/ops/checks.h"

#include <cmath>

#include "base/text.h"

namespace rm {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kMaxText = 4096;  // PATH_MAX
constexpr int kMaxItems = 4096;
constexpr std::size_t kMaxRequestId = 128;
constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;

Status check_text(const FieldDescriptor& field, const std::string& text) {
    if (text.size() > kMaxText) {
        return invalid_argument("{}: {} bytes; at most {}", field.name(), text.size(), kMaxText);
    }
    if (text.find('\0') == std::string::npos) return {};
    return invalid_argument("{}: contains a zero byte; leave it out", field.name());
}

Status check_whole(const FieldDescriptor& field, std::int64_t value) {
    if (value >= -kMaxWhole && value <= kMaxWhole) return {};
    return invalid_argument("{}: {} is beyond 2^53; give a smaller number", field.name(), value);
}

Status check_number(const FieldDescriptor& field, double value) {
    if (std::isfinite(value)) return {};
    return invalid_argument("{}: {} is not a finite number", field.name(), value);
}

// `index` is -1 for a field that is not a list.
Status check_value(const Message& message, const FieldDescriptor& field, int index) {
    const Reflection& get = *message.GetReflection();
    const bool one = index < 0;
    switch (field.cpp_type()) {
        case FieldDescriptor::CPPTYPE_STRING:
            if (field.name() == "yaml") return {};
            return check_text(field, one ? get.GetString(message, &field)
                                         : get.GetRepeatedString(message, &field, index));
        case FieldDescriptor::CPPTYPE_INT64:
            return check_whole(field, one ? get.GetInt64(message, &field)
                                          : get.GetRepeatedInt64(message, &field, index));
        case FieldDescriptor::CPPTYPE_DOUBLE:
            return check_number(field, one ? get.GetDouble(message, &field)
                                           : get.GetRepeatedDouble(message, &field, index));
        case FieldDescriptor::CPPTYPE_MESSAGE:
            return check_message(one ? get.GetMessage(message, &field)
                                     : get.GetRepeatedMessage(message, &field, index));
        case FieldDescriptor::CPPTYPE_INT32:
        case FieldDescriptor::CPPTYPE_UINT32:
        case FieldDescriptor::CPPTYPE_UINT64:
        case FieldDescriptor::CPPTYPE_FLOAT:
        case FieldDescriptor::CPPTYPE_BOOL:
        case FieldDescriptor::CPPTYPE_ENUM:
            break;
    }
    return {};
}

Status check_list(const Message& message, const FieldDescriptor& field) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    if (size > kMaxItems) {
        return invalid_argument("{}: {} entries; at most {}", field.name(), size, kMaxItems);
    }
    for (int i = 0; i < size; ++i)
        RM_RETURN_IF_ERROR(check_value(message, field, i));
    return {};
}

std::set<std::string> kinds_offered(const State& state) {
    std::set<std::string> kinds;
    for (const auto& [id, node] : state.nodes) {
        for (const DeviceInfo& device : node.inventory.devices)
            kinds.insert(device.kind);
    }
    return kinds;
}

}  // namespace

Status check_message(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        RM_RETURN_IF_ERROR(field->is_repeated() ? check_list(message, *field)
                                                : check_value(message, *field, -1));
    }
    return {};
}

Status check_request_id(const std::string& id, std::string_view what) {
    if (!id.empty() && id.size() <= kMaxRequestId) return {};
    return invalid_argument("request_id: {} bytes; give 1 to {}, new for each {}", id.size(),
                            kMaxRequestId, what);
}

Status check_owner(const State& state, const JobId& id, const Principal& caller,
                   std::string_view verb) {
    const std::string& owner = find_job(state, id)->owner;
    if (caller.role == Role::admin || owner == caller.name) return {};
    return make_error(ErrorCode::permission_denied,
                      "job {} is of '{}'; '{}' may {} their own, an admin every job", id, owner,
                      caller.name, verb);
}

Status check_priority(int priority, const Principal& caller) {
    if (priority <= kMostPriority || caller.role == Role::admin) return {};
    return make_error(ErrorCode::permission_denied,
                      "priority: {}; a {} may ask for at most {}, an admin for more", priority,
                      to_string(caller.role), kMostPriority);
}

std::vector<std::string> warnings_about(const State& state, const JobSpec& spec) {
    const std::string& kind = spec.resources.kind;
    const std::set<std::string> offered = kinds_offered(state);
    if (kind.empty() || offered.empty() || offered.contains(kind)) return {};
    return {
        format("resources.kind: no node has ever offered '{}', and the job waits until one "
               "does; the kinds of this cluster: {}",
               kind, join(offered))};
}

}  // namespace rm
