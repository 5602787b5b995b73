#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace rm {

struct VerbGroup {
    std::string heading;  // of --help
    std::vector<Verb> verbs;
};

// Every verb, in the order of --help.
std::vector<VerbGroup> verb_table();

}  // namespace rm
