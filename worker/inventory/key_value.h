#pragma once

#include <string_view>

namespace rm {

// The value of the first line "key <separator> value", without blanks around it; empty: there is
// none.
std::string_view value_of(std::string_view text, std::string_view key, char separator);

}  // namespace rm
