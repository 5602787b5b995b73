#include "engine/json/parse_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;

template <typename... Args>
Error broken(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::data_loss, pattern, args...);
}

// Follows the parse: the keys of every object that is open.
class KeyCheck {
public:
    bool operator()(int depth, json::parse_event_t event, const json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start:
                open_.emplace_back();
                [[fallthrough]];
            case json::parse_event_t::array_start:
                if (depth >= kMaxDepth) fail("is nested deeper than {}", kMaxDepth);
                break;
            case json::parse_event_t::object_end:
                open_.pop_back();
                break;
            case json::parse_event_t::key:
                if (!open_.back().insert(parsed.get<std::string>()).second) {
                    fail("holds the key {} twice", shown_text(parsed.get<std::string>()));
                }
                break;
            case json::parse_event_t::array_end:
            case json::parse_event_t::value:
                break;
        }
        return status_.ok();
    }
    const Status& status() const { return status_; }

private:
    template <typename... Args>
    void fail(std::string_view pattern, const Args&... args) {
        if (status_) status_ = broken(pattern, args...);
    }

    std::vector<std::set<std::string>> open_;
    Status status_;
};

}  // namespace

Result<json> parse_json(std::string_view text) {
    json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) return broken("is not JSON ({} bytes)", text.size());
    return value;
}

Result<json> parse_strict_json(std::string_view text, std::size_t max_bytes) {
    if (text.size() > max_bytes) {
        return broken("is {} bytes long; at most {} are read", text.size(), max_bytes);
    }
    // The parser would treat a zero byte as the end.
    if (text.find('\0') != std::string_view::npos) return broken("is not JSON: holds a zero byte");
    KeyCheck check;
    try {
        json value = json::parse(text, std::ref(check));
        RM_RETURN_IF_ERROR(check.status());
        return value;
    } catch (const json::parse_error& error) {
        RM_RETURN_IF_ERROR(check.status());
        const auto end =
            text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
        return broken("is not JSON: wrong at line {}", 1 + std::count(text.begin(), end, '\n'));
    } catch (const json::exception& error) {  // a number beyond a double's range
        return broken("is not JSON: {}", error.what());
    }
}

}  // namespace rm
