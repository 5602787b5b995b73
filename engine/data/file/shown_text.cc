#include "engine/data/file/shown_text.h"

namespace rm {

std::string shown_text(std::string_view text) {
    constexpr std::size_t kMost = 200;
    std::string shown = "'";
    for (const char c : text.substr(0, kMost)) {
        shown += c >= ' ' && c <= '~' ? c : '?';
    }
    return shown + (text.size() > kMost ? "...'" : "'");
}

}  // namespace rm
