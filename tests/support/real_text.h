#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rm::test {

// Text files of a Debian machine: pages of documentation, C++, Perl, licences, and the messages of
// programs in all languages, in the order of their paths. Documents of at most 100 kB, well-formed
// UTF-8, about `bytes` in total or as much as there is.
std::vector<std::string> real_text(std::int64_t bytes);

// `count` strings from the seed: letters of many scripts, white space of all kinds, digits, marks,
// emoji, contractions, special tokens and pieces of them.
std::vector<std::string> random_texts(std::uint64_t seed, int count);

}  // namespace rm::test
