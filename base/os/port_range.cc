#include "base/os/port_range.h"

#include <charconv>

namespace rm {

std::string to_string(PortRange ports) {
    if (ports.first == ports.last) return format("{}", ports.first);
    return format("{}-{}", ports.first, ports.last);
}

Result<PortRange> parse_port_range(const std::string& text) {
    PortRange range;
    const char* const end = text.data() + text.size();
    auto [next, failure] = std::from_chars(text.data(), end, range.first);
    range.last = range.first;
    if (failure == std::errc() && next != end && *next == '-') {
        const auto parsed = std::from_chars(next + 1, end, range.last);
        next = parsed.ptr;
        failure = parsed.ec;
    }
    const bool wrong = failure != std::errc() || next != end || range.first < 0 ||
                       range.last > 65535 || range.last < range.first ||
                       (range.first == 0 && range.last != 0);
    if (!wrong) return range;
    return invalid_argument("'{}' is not a range of ports; give FIRST-LAST, PORT or 0", text);
}

}  // namespace rm
