#pragma once

#include <string>
#include <string_view>

namespace rm {

// Third-party text made safe for a terminal: control characters (C0, DEL and C1, which terminals
// obey: a job's data path could clear a screen or set its title) and bytes that are not UTF-8
// become U+FFFD. Line breaks and tabs stay.
std::string printable(std::string_view text);

}  // namespace rm
