#pragma once

#include <string>
#include <string_view>

namespace rm {

// Text from a file for a message: in single quotes, printable ASCII (other bytes as '?'), and cut
// at 200 bytes.
std::string shown_text(std::string_view text);

}  // namespace rm
