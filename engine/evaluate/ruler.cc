#include "engine/evaluate/ruler.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "engine/evaluate/fit_text.h"
#include "engine/evaluate/ruler_texts.h"

namespace rm {
namespace {

using ruler::Task;

const Task& task_of(const std::string& name) {
    const auto& all = ruler::tasks();
    const auto found = std::ranges::find(all, name, &Task::name);
    RM_CHECK(found != all.end(), "no task {}", name);
    return *found;
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// The answers as a model would list them.
Problem listed(const RulerProblem& problem) {
    return {problem.prompt, " " + join(problem.answers)};
}

// As much haystack as the length has room for.
struct Fitted {
    RulerProblem problem;
    ProblemTokens tokens;
};

class Fitting {
public:
    Fitting(const RulerSpec& spec, const std::string& task, std::int64_t length,
            const Tokenizer& tokenizer)
        : spec_(spec), task_(task), length_(length), tokenizer_(tokenizer) {}

    Result<Fitted> fit(std::int64_t sample) const {
        const std::int64_t few = task_of(task_).least_amount;
        const SizeOfAmount sized = [&](std::int64_t amount) -> Result<std::int64_t> {
            RM_TRY(const Fitted fitted, with(sample, amount));
            return size_of(fitted);
        };
        RM_TRY(const std::optional<std::int64_t> amount, largest_amount(few, length_, sized));
        if (amount) return with(sample, *amount);
        RM_TRY(const std::int64_t least, sized(few));
        return invalid_argument("ruler: {} has no room in {} tokens: it takes {}", task_, length_,
                                least);
    }

private:
    Result<Fitted> with(std::int64_t sample, std::int64_t amount) const {
        Fitted fitted{ruler_problem(spec_, task_, length_, sample, amount), {}};
        RM_TRY(fitted.tokens, tokens_of(listed(fitted.problem), tokenizer_));
        return fitted;
    }
    std::int64_t size_of(const Fitted& fitted) const {
        return std::ssize(fitted.tokens.prompt) +
               std::max(std::ssize(fitted.tokens.answer), ruler_new_tokens(task_));
    }

    const RulerSpec& spec_;
    const std::string& task_;
    std::int64_t length_;
    const Tokenizer& tokenizer_;
};

Result<SuiteCell> run_cell(const RulerSpec& spec, const std::string& task, std::int64_t length,
                           const SuiteRun& run) {
    SuiteCell cell{.task = task, .length = length, .samples = spec.samples};
    const Fitting fitting(spec, task, length, run.tokenizer);
    RM_TRY(const Fitted first, fitting.fit(0));
    const std::int64_t room = std::max(std::ssize(first.tokens.answer), ruler_new_tokens(task));
    RM_TRY(const Examiner judge, run.examiner(length, ruler_room(room)));
    for (int sample = 0; sample < spec.samples; ++sample) {
        RM_TRY(const Fitted fitted, fitting.fit(sample));
        const Judged judged = judge(fitted.tokens, ruler_new_tokens(task));
        RM_TRY(const std::string said, run.tokenizer.decode(judged.said, SpecialTokens::skip));
        cell.score += ruler_score(said, fitted.problem.answers) / spec.samples;
        cell.loss += judged.loss / spec.samples;
    }
    return cell;
}

}  // namespace

const std::vector<std::string>& ruler_tasks() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Task& task : ruler::tasks())
            all.emplace_back(task.name);
        return all;
    }();
    return names;
}

std::int64_t ruler_new_tokens(const std::string& task) {
    return task_of(task).new_tokens;
}

RulerProblem ruler_problem(const RulerSpec& spec, const std::string& task, std::int64_t length,
                           std::int64_t sample, std::int64_t amount) {
    const Task& found = task_of(task);
    const auto index = static_cast<std::uint64_t>(&found - ruler::tasks().data());
    Rng random(random_at(spec.seed, index, static_cast<std::uint64_t>(sample)));
    const ruler::Haystack hay{std::max(amount, found.least_amount), length, spec.essay};
    return found.make(hay, random);
}

double ruler_score(const std::string& text, const std::vector<std::string>& answers) {
    const std::string said = lower(text);
    double found = 0;
    for (const std::string& answer : answers)
        found += said.find(lower(answer)) != said.npos ? 1 : 0;
    return answers.empty() ? 0 : found / static_cast<double>(answers.size());
}

Result<std::vector<SuiteCell>> run_ruler(const RulerSpec& spec, const SuiteRun& run) {
    const std::vector<std::string>& tasks = spec.tasks.empty() ? ruler_tasks() : spec.tasks;
    const std::int64_t all = std::ssize(tasks) * std::ssize(spec.lengths);
    std::vector<SuiteCell> cells;
    for (const std::string& task : tasks) {
        for (const std::int64_t length : spec.lengths) {
            if (run.stop && run.stop(std::ssize(cells), all)) return cells;
            RM_TRY(const SuiteCell cell, run_cell(spec, task, length, run));
            cells.push_back(cell);
        }
    }
    return cells;
}

std::int64_t effective_length(const std::vector<SuiteCell>& cells) {
    struct Mean {
        double sum = 0;
        int tasks = 0;
    };
    std::map<std::int64_t, Mean> by_length;
    for (const SuiteCell& cell : cells) {
        by_length[cell.length].sum += cell.score;
        ++by_length[cell.length].tasks;
    }
    std::int64_t effective = 0;
    for (const auto& [length, mean] : by_length) {
        if (mean.sum / mean.tasks < kRulerThreshold) break;
        effective = length;
    }
    return effective;
}

}  // namespace rm
