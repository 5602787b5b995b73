#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

// Checks of an option's text for CLI11's check(): each returns our error, or nothing. They see
// the text before CLI11 converts it, so that its own messages are never needed.
namespace rm {

using OptionCheck = std::function<std::string(const std::string&)>;

// "'-1' is not a whole number from 0 to 64", "... of 1 or more".
OptionCheck whole_number(std::int64_t least,
                         std::int64_t most = std::numeric_limits<std::int32_t>::max());
// "'x' is not a number from 0.2 to 3600", "... of 0 or more" when `most` is infinite.
OptionCheck number(double least, double most = std::numeric_limits<double>::infinity());
// "the value is empty".
OptionCheck not_empty();
// "'never' is not one of auto, manual".
OptionCheck one_of(std::vector<std::string> words);

}  // namespace rm
