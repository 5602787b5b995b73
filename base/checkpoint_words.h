#pragma once

#include <string>
#include <string_view>

#include "base/format.h"

// A rank says this of a directory whose checkpoints are all damaged; `explain` knows it again: to
// begin from that directory once more ends the same way.
namespace rm {

inline std::string none_is_whole(std::string_view dir, std::string_view why) {
    return format("no checkpoint in {} is whole: {}", dir, why);
}

inline bool says_none_is_whole(std::string_view words) {
    const std::size_t begin = words.find("no checkpoint in ");
    return begin != std::string_view::npos &&
           words.find(" is whole: ", begin) != std::string_view::npos;
}

}  // namespace rm
