#include "engine/tokenizer/strict_json.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "engine/data/json_fields.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLevels = 64;

// Watches a parse; the first thing wrong is kept.
class Watch {
public:
    bool operator()(json::parse_event_t event, const json& value) {
        if (problem_) return false;
        switch (event) {
            case json::parse_event_t::object_start:
            case json::parse_event_t::array_start:
                levels_.emplace_back();
                if (levels_.size() > kMostLevels) problem_ = "nests too deep";
                break;
            case json::parse_event_t::object_end:
            case json::parse_event_t::array_end:
                levels_.pop_back();
                break;
            case json::parse_event_t::key:
                see_key(value.get_ref<const std::string&>());
                break;
            case json::parse_event_t::value:
                break;
        }
        return !problem_;
    }
    const std::optional<std::string>& problem() const { return problem_; }

private:
    void see_key(const std::string& key) {
        if (!levels_.back().insert(key).second) problem_ = format("'{}' appears twice", key);
    }
    std::vector<std::unordered_set<std::string>> levels_;
    std::optional<std::string> problem_;
};

// Without "[json.exception.parse_error.101] ".
std::string words_of(const json::exception& error) {
    const std::string text = error.what();
    const std::size_t end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

Result<json> parse_strict_json(std::string_view text) {
    Watch watch;
    json value;
    try {
        value = json::parse(text, [&watch](int, json::parse_event_t event, json& parsed) {
            return watch(event, parsed);
        });
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss, "not JSON: {}", words_of(error));
    }
    if (watch.problem()) return make_error(ErrorCode::data_loss, "{}", *watch.problem());
    return value;
}

const json* find_value(const json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(std::string(key));
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<bool> bool_at(const json& object, std::string_view key, bool missing) {
    const json* value = find_value(object, key);
    if (value == nullptr) return missing;
    if (value->is_boolean()) return value->get<bool>();
    return make_error(ErrorCode::data_loss, "'{}' is {}, not true or false", key,
                      value->type_name());
}

Status only_keys(const json& object, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) {
        return make_error(ErrorCode::data_loss, "is {}, not an object", object.type_name());
    }
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        std::string list;
        for (const std::string_view name : known)
            list += format("{}{}", list.empty() ? "" : ", ", name);
        return unsupported(format("the key '{}'", key), list);
    }
    return {};
}

std::string excerpt(const json& value) {
    std::string text = value.dump(-1, ' ', true);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

Error within(std::string_view where, const Error& error) {
    return {error.code, format("{}: {}", where, error.message)};
}

Error unsupported(std::string_view what, std::string_view supported) {
    return make_error(ErrorCode::unimplemented, "{} is not supported; supported: {}", what,
                      supported);
}

}  // namespace rm
