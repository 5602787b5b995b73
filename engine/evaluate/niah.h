#pragma once

#include <functional>
#include <vector>

#include "engine/evaluate/examine.h"
#include "engine/evaluate/needles.h"

namespace rm {

// Needle in a haystack: at every length and depth, texts that hide a fact in hay and ask for it.
// The numbers are those of a SuiteSpec that check_suite() takes.
struct NiahSpec {
    std::vector<std::int64_t> lengths;  // tokens
    int depths = 5;                     // evenly from the first sentence to the last
    int samples = 4;                    // of each length and depth
    int distractors = 0;                // needles of other cities, anywhere in the hay
    int digits = 4;
    std::uint64_t seed = 1;
};
// The most tokens of an answer: a token is a byte at least, and it has a space before its digits.
constexpr std::int64_t niah_new_tokens(int digits) {
    return digits + 1;
}
double niah_depth(const NiahSpec& spec, int index);

// The text of a sample with so many sentences of hay. The same numbers give the same text.
Problem niah_problem(const NiahSpec& spec, double depth, std::int64_t sample, std::int64_t hay);
// With as much hay as `length` tokens have room for; invalid_argument: not even without hay.
Result<ProblemTokens> niah_tokens(const NiahSpec& spec, std::int64_t length, double depth,
                                  std::int64_t sample, const Tokenizer& tokenizer);

// By length, then depth.
Result<std::vector<SuiteCell>> run_niah(const NiahSpec& spec, const SuiteRun& run);

}  // namespace rm
