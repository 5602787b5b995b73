#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "spec/evaluation/suite_spec.h"

// The sentences of needles in a haystack (Kamradt, 2023), in texts to examine models with and in
// texts to train small ones on.
namespace rm {

struct Needle {
    std::string_view city;
    std::string number;  // its digits
};

// Different cities, and numbers of `digits` digits without a leading 0.
std::vector<Needle> draw_needles(int count, int digits, Rng& random);

std::string needle_sentence(const Needle& needle);   // "The magic number of Lima is 4827. "
std::string needle_question(std::string_view city);  // up to its answer, " 4827"
std::string needle_answer(const Needle& needle);     // " 4827"
inline std::string answered(const Needle& needle) {
    return needle_question(needle.city) + needle_answer(needle) + ". ";
}

// The i-th sentence of the haystack: five that repeat, without a fact that a question asks for.
std::string_view haystack_sentence(std::int64_t i);

// Documents of `from` to `to` bytes that train retrieval: half have needles and questions about
// earlier ones all through, half few needles in much hay and the questions at the end. Calls
// `take` with each until they have `total` bytes together. The same seed gives the same documents.
struct NeedleDocuments {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t total = 0;
    int digits = 4;
    std::uint64_t seed = 1;
};
void write_needle_documents(const NeedleDocuments& spec,
                            const std::function<void(std::string_view)>& take);

}  // namespace rm
