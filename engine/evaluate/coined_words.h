#pragma once

#include <set>
#include <string>

#include "base/random.h"

namespace rm {

// Words that no language has, such as "tamore" or "vulisa": three syllables of 100, so a million of
// them.
std::string coin_word(Rng& random);

// Coins words without repetition.
class WordCoiner {
public:
    explicit WordCoiner(Rng& random) : random_(random) {}
    std::string next();

private:
    Rng& random_;
    std::set<std::string> coined_;
};

}  // namespace rm
