#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"

// Examinations of a model beyond the loss of held-out text (docs/evaluation.md).
namespace rm {

enum class SuiteKind { niah, ruler };
constexpr auto vocabulary_of(SuiteKind) {
    return vocabulary<SuiteKind>("suite", {{SuiteKind::niah, "niah"}, {SuiteKind::ruler, "ruler"}});
}

// The tasks of RULER (arXiv:2404.06654) that need no data set, in its order.
constexpr std::array<std::string_view, 11> kRulerTasks = {"niah_single_1",
                                                          "niah_single_2",
                                                          "niah_single_3",
                                                          "niah_multikey_1",
                                                          "niah_multikey_2",
                                                          "niah_multikey_3",
                                                          "niah_multivalue",
                                                          "niah_multiquery",
                                                          "vt",
                                                          "cwe",
                                                          "fwe"};

// The mean score from which on RULER counts a length as effective: that of Llama 2 7B at 4K.
constexpr double kRulerThreshold = 0.856;

// Texts that ask for what they hold, and how many answers are right.
struct SuiteSpec {
    SuiteKind suite = SuiteKind::niah;
    std::string name;                   // empty: the suite's; different from those beside it
    std::int64_t every_steps = 0;       // 0: only at the end
    std::vector<std::int64_t> lengths;  // tokens of a text; empty: see suite_lengths
    int depths = 5;                     // niah: places of the needle, from the first to the last
    int samples = 0;                    // texts of each field of the grid; 0: niah 4, ruler 10
    int distractors = 0;                // niah: needles that are not asked for
    int digits = 4;                     // niah: of a needle's number
    std::vector<std::string> tasks;     // ruler: of kRulerTasks; empty: all
    std::uint64_t seed = 1;
    bool operator==(const SuiteSpec&) const = default;
};

constexpr int kMostNeedles = 40;  // of a text: it has each city once
constexpr std::int64_t kMostSuiteCells = 2000;

std::string suite_name(const SuiteSpec& suite);
int suite_samples(const SuiteSpec& suite);
// The suite's, or a quarter, a half and all of the context that the model was trained for.
std::vector<std::int64_t> suite_lengths(const SuiteSpec& suite, std::int64_t trained_context);
// All tokens of its texts.
std::int64_t suite_tokens(const SuiteSpec& suite, std::int64_t trained_context);
// The error begins with the member's name.
Status check_suite(const SuiteSpec& suite);

// A text to continue, to see what a model has learned.
struct PromptSpec {
    std::string prompt;
    std::int64_t tokens = 64;  // to add, at most
    double temperature = 0;    // of the draw; 0: the likeliest token
    double top_p = 1;          // draws from the likeliest tokens with this probability
    std::uint64_t seed = 1;
    bool operator==(const PromptSpec&) const = default;
};

constexpr std::int64_t kMostPromptTokens = 1000;  // that a job adds to a prompt

// Those of a job. The error begins with the key path.
Status check_suites(const std::vector<SuiteSpec>& suites);
Status check_prompts(const std::vector<PromptSpec>& prompts);

}  // namespace rm
