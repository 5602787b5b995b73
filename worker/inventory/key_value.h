#pragma once

#include <string_view>

namespace rm {

// The value of the first line "key <separator> value", without surrounding blanks; empty: no such
// line.
std::string_view value_of(std::string_view text, std::string_view key, char separator);

}  // namespace rm
