#include "spec/evaluation/suite_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/text.h"

namespace rm {
namespace {

constexpr std::int64_t kLongestText = std::int64_t{1} << 40;

Status check_lengths(const SuiteSpec& suite) {
    for (const std::int64_t length : suite.lengths) {
        if (length >= 1 && length <= kLongestText) continue;
        return invalid_argument("lengths: {} tokens; 1 to {}", length, kLongestText);
    }
    return {};
}

Status check_niah(const SuiteSpec& suite) {
    if (suite.depths < 1) return invalid_argument("depths: {}; at least 1", suite.depths);
    if (suite.digits < 1 || suite.digits > 15)
        return invalid_argument("digits: {}; 1 to 15", suite.digits);
    if (suite.distractors < 0 || suite.distractors >= kMostNeedles)
        return invalid_argument("distractors: {}; 0 to {}", suite.distractors, kMostNeedles - 1);
    if (suite.tasks.empty()) return {};
    return invalid_argument("tasks: are of the suite ruler, and this is niah");
}

Status check_ruler(const SuiteSpec& suite) {
    for (const std::string& task : suite.tasks) {
        if (std::ranges::count(kRulerTasks, task) > 0) continue;
        const std::vector<std::string> all(kRulerTasks.begin(), kRulerTasks.end());
        return invalid_argument("tasks: there is no task '{}'; {}", task, join(all));
    }
    return {};
}

// Depths or tasks.
std::int64_t num_rows(const SuiteSpec& suite) {
    if (suite.suite == SuiteKind::niah) return suite.depths;
    return suite.tasks.empty() ? std::ssize(kRulerTasks) : std::ssize(suite.tasks);
}

Status check_name(const std::string& name) {
    constexpr std::size_t kMost = 63;
    const bool shaped = std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (shaped && name.size() <= kMost) return {};
    return invalid_argument("name: '{}' must be up to {} letters, digits, '_', '-' or '.'", name,
                            kMost);
}

Status check_prompt(const PromptSpec& prompt) {
    if (prompt.prompt.empty()) return invalid_argument("prompt: is empty");
    if (prompt.tokens < 1 || prompt.tokens > kMostPromptTokens)
        return invalid_argument("tokens: {}; 1 to {}", prompt.tokens, kMostPromptTokens);
    if (!(prompt.temperature >= 0) || !std::isfinite(prompt.temperature))
        return invalid_argument("temperature: {}; 0, which is greedy, or more", prompt.temperature);
    if (prompt.top_p > 0 && prompt.top_p <= 1) return {};
    return invalid_argument("top_p: {}; above 0, up to 1", prompt.top_p);
}

// "evaluate.suites[1].digits: ..."
Status at_path(const Status& status, std::string_view list, std::size_t index) {
    if (status) return {};
    const Error& error = status.error();
    return make_error(error.code, "{}[{}].{}", list, index, error.message);
}

}  // namespace

std::string suite_name(const SuiteSpec& suite) {
    return suite.name.empty() ? std::string(to_string(suite.suite)) : suite.name;
}

int suite_samples(const SuiteSpec& suite) {
    if (suite.samples > 0) return suite.samples;
    return suite.suite == SuiteKind::niah ? 4 : 10;
}

std::vector<std::int64_t> suite_lengths(const SuiteSpec& suite, std::int64_t trained_context) {
    if (!suite.lengths.empty()) return suite.lengths;
    return {trained_context / 4, trained_context / 2, trained_context};
}

std::int64_t suite_tokens(const SuiteSpec& suite, std::int64_t trained_context) {
    std::int64_t tokens = 0;
    for (const std::int64_t length : suite_lengths(suite, trained_context))
        tokens += length * num_rows(suite) * suite_samples(suite);
    return tokens;
}

Status check_suite(const SuiteSpec& suite) {
    RM_RETURN_IF_ERROR(check_name(suite.name));
    if (suite.every_steps < 0)
        return invalid_argument("every: {} steps must not be negative", suite.every_steps);
    if (suite.samples < 0) return invalid_argument("samples: {}; at least 1", suite.samples);
    RM_RETURN_IF_ERROR(check_lengths(suite));
    RM_RETURN_IF_ERROR(suite.suite == SuiteKind::niah ? check_niah(suite) : check_ruler(suite));
    const std::int64_t fields = std::ssize(suite_lengths(suite, 0)) * num_rows(suite);
    if (fields <= kMostSuiteCells) return {};
    return invalid_argument("lengths: the grid has {} fields; at most {}", fields, kMostSuiteCells);
}

Status check_suites(const std::vector<SuiteSpec>& suites) {
    constexpr std::size_t kMostSuites = 16;
    if (suites.size() > kMostSuites)
        return invalid_argument("evaluate.suites: {}; at most {}", suites.size(), kMostSuites);
    std::set<std::string> names;
    for (std::size_t i = 0; i < suites.size(); ++i) {
        RM_RETURN_IF_ERROR(at_path(check_suite(suites[i]), "evaluate.suites", i));
        const std::string name = suite_name(suites[i]);
        if (names.insert(name).second) continue;
        return invalid_argument("evaluate.suites[{}].name: '{}' is there twice; name one of them",
                                i, name);
    }
    return {};
}

Status check_prompts(const std::vector<PromptSpec>& prompts) {
    constexpr std::size_t kMostPrompts = 16;
    if (prompts.size() > kMostPrompts)
        return invalid_argument("evaluate.prompts: {}; at most {}", prompts.size(), kMostPrompts);
    for (std::size_t i = 0; i < prompts.size(); ++i)
        RM_RETURN_IF_ERROR(at_path(check_prompt(prompts[i]), "evaluate.prompts", i));
    return {};
}

}  // namespace rm
