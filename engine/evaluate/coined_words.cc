#include "engine/evaluate/coined_words.h"

namespace rm {

std::string coin_word(Rng& random) {
    constexpr std::string_view kConsonants = "bcdfghjklmnprstvwxyz", kVowels = "aeiou";
    std::string word;
    for (int i = 0; i < 3; ++i) {
        word += kConsonants[random.below(kConsonants.size())];
        word += kVowels[random.below(kVowels.size())];
    }
    return word;
}

std::string WordCoiner::next() {
    while (true) {
        std::string word = coin_word(random_);
        if (coined_.insert(word).second) return word;
    }
}

}  // namespace rm
