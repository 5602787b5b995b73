#include "service/security/deny_list.h"

#include <algorithm>
#include <cctype>

namespace rm {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Result<std::string> normal_serial(std::string_view text) {
    std::string serial(text);
    const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
    if (serial.empty() || !std::all_of(serial.begin(), serial.end(), is_hex)) {
        return invalid_argument("'{}' is not a serial number in hexadecimal", text);
    }
    for (char& c : serial)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    // OpenSSL prints whole bytes: a leading zero is part of what it says.
    serial.erase(0, std::min(serial.find_first_not_of('0'), serial.size() - 1));
    return serial;
}

Result<DenyList> parse_deny_list(std::string_view text, std::string_view file_name) {
    DenyList list;
    for (int line = 1; !text.empty(); ++line) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view whole = text.substr(0, end);
        const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (content.empty()) continue;
        RM_TRY(std::string serial,
               within(format("{}:{}", file_name, line), normal_serial(content)));
        list.insert(std::move(serial));
    }
    return list;
}

}  // namespace rm
