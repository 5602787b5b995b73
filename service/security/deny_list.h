#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// Serial numbers of certificates that are not accepted any more.
using DenyList = std::set<std::string>;

// One serial in hexadecimal per line, in any case, and `#` comments. Anything else is an error that
// names the line: a list that is half read denies too little.
Result<DenyList> parse_deny_list(std::string_view text, std::string_view file_name);

// Upper case, without leading zeros; INVALID_ARGUMENT for what is not hexadecimal.
Result<std::string> normal_serial(std::string_view text);

}  // namespace rm
