#include "engine/tokenizer/json_keys.h"

#include <algorithm>

#include "base/text.h"

namespace rm {
namespace {

using nlohmann::json;

// Control characters would move a terminal's cursor; C1's are C2 80 to C2 9F.
bool is_safe(std::string_view token) {
    for (std::size_t i = 0; i < token.size(); ++i) {
        const auto byte = static_cast<unsigned char>(token[i]);
        if (byte < 0x20 || byte == 0x7F) return false;
        if (byte == 0xC2 && static_cast<unsigned char>(token[i + 1]) < 0xA0) return false;
    }
    return true;
}

}  // namespace

const json* find_value(const json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(std::string(key));
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

Status only_keys(const json& object, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) {
        return make_error(ErrorCode::data_loss, "is {}, not an object", object.type_name());
    }
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        return unsupported(format("the key {}", shown_text(key)), join(known));
    }
    return {};
}

std::string shown_token(std::string_view token) {
    if (token.size() <= 64 && is_safe(token)) return format("'{}'", token);
    return shown_text(token);
}

Error unsupported(std::string_view what, std::string_view supported) {
    return make_error(ErrorCode::unimplemented, "{} is not supported; supported: {}", what,
                      supported);
}

}  // namespace rm
