#pragma once

#include <string>
#include <vector>

#include "engine/evaluate/examine.h"
#include "spec/evaluation/suite_spec.h"

// RULER (Hsieh et al., 2024, arXiv:2404.06654): the 11 of its 13 tasks that need no data set, with
// the prompts and numbers of its configuration (synthetic.yaml; Apache License 2.0). Ours differ in
// what has to be drawn anew: words are coined, and where RULER hides needles in essays, a text of
// the user's or its own haystack of noise takes their place.
namespace rm {

struct RulerProblem {
    std::string prompt;
    std::vector<std::string> answers;  // all of which the continuation should hold
};

// The numbers are those of a SuiteSpec that check_suite() takes.
struct RulerSpec {
    std::vector<std::string> tasks;     // names; empty: all
    std::vector<std::int64_t> lengths;  // tokens, the continuation included
    int samples = 10;                   // of each task and length
    std::uint64_t seed = 1;
    std::string essay;  // a text; empty: noise
};
const std::vector<std::string>& ruler_tasks();  // kRulerTasks

// The most tokens that a task's continuation has.
std::int64_t ruler_new_tokens(const std::string& task);
// Room for answers of `tokens` and for those of other samples, which may take more.
constexpr std::int64_t ruler_room(std::int64_t tokens) {
    return 2 * tokens;
}
// A text of `amount` pieces of haystack, at least what the task has to hide. `length`: some tasks
// count otherwise in texts below 4,096 tokens. The same numbers give the same text.
RulerProblem ruler_problem(const RulerSpec& spec, const std::string& task, std::int64_t length,
                           std::int64_t sample, std::int64_t amount);

// The share of the answers that the text has, in any case of letters.
double ruler_score(const std::string& text, const std::vector<std::string>& answers);

// By task, then length.
Result<std::vector<SuiteCell>> run_ruler(const RulerSpec& spec, const SuiteRun& run);

// The longest of the lengths up to which the mean over all tasks stays at 85.6 % (Llama 2 7B at 4K)
// or more; 0: not even the shortest.
std::int64_t effective_length(const std::vector<SuiteCell>& cells);

}  // namespace rm
