#include "engine/json/json_object.h"

#include "base/text.h"

namespace rm {

using nlohmann::json;

JsonObject::JsonObject(const json& value, std::string path, JsonSource source)
    : value_(value), path_(std::move(path)), source_(source) {
    if (value.is_object()) return;
    status_ = is_file() ? make_error(ErrorCode::data_loss, "{}is {}, not an object",
                                     path_.empty() ? "" : path_ + " ", value.type_name())
                        : invalid_argument("{}: {} where an object is expected",
                                           path_.empty() ? "." : path_, value.type_name());
}

std::string JsonObject::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : format("{}.{}", path_, key);
}

const json* JsonObject::find(std::string_view key) {
    asked_.emplace(key);
    if (!value_.is_object()) return nullptr;
    const auto found = value_.find(std::string(key));
    return found == value_.end() ? nullptr : &*found;
}

const json* JsonObject::member(std::string_view key) {
    const json* found = find(key);
    return found != nullptr && is_file() && found->is_null() ? nullptr : found;
}

const json& JsonObject::list(std::string_view key) {
    static const json none = json::array();
    const json* found = find(key);
    if (found == nullptr) return none;
    if (found->is_array()) return *found;
    fail(key, "a list", *found);
    return none;
}

JsonObject& JsonObject::keep(const Status& status) {
    if (status_ && !status) status_ = status;
    return *this;
}

Error JsonObject::error(std::string_view key, std::string_view in_file,
                        std::string_view in_configuration) const {
    if (!is_file()) return invalid_argument("{}: {}", path_of(key), in_configuration);
    return make_error(ErrorCode::data_loss, "{}'{}' {}", path_.empty() ? "" : path_ + ": ", key,
                      in_file);
}

JsonObject& JsonObject::fail(std::string_view key, std::string_view wanted, const json& found) {
    const std::string shown = excerpt(found);
    return keep(error(key, format("is {}, not {}", shown, wanted),
                      format("{} where {} is expected", shown, wanted)));
}

JsonObject& JsonObject::missing(std::string_view key) {
    return keep(error(key, "is missing", "is missing"));
}

JsonObject& JsonObject::require(std::string_view key) {
    return find(key) == nullptr ? missing(key) : *this;
}

Status JsonObject::finish() const {
    if (!status_) return status_;
    for (const auto& [key, unused] : value_.items()) {
        if (asked_.count(key) != 0) continue;
        const std::string unknown = format("unknown key; known here: {}", join(asked_));
        return error(key, format("is an {}", unknown), unknown);
    }
    return {};
}

Result<const json*> field_at(const json& object, std::string_view key) {
    JsonObject members = JsonObject::of_file(object);
    RM_RETURN_IF_ERROR(members.require(key).status());
    return &*object.find(std::string(key));
}

Result<const json*> list_at(const json& object, std::string_view key) {
    JsonObject members = JsonObject::of_file(object);
    const json& list = members.require(key).list(key);
    RM_RETURN_IF_ERROR(members.status());
    return &list;
}

std::string excerpt(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

}  // namespace rm
