#include "engine/evaluate/niah.h"

#include <algorithm>
#include <cmath>

#include "engine/evaluate/fit_text.h"

namespace rm {
namespace {

std::vector<std::string> hay_sentences(std::int64_t count) {
    std::vector<std::string> sentences;
    for (std::int64_t i = 0; i < count; ++i)
        sentences.emplace_back(haystack_sentence(i));
    return sentences;
}

// The same for any amount of hay.
Rng random_of(const NiahSpec& spec, double depth, std::int64_t sample) {
    const auto at = static_cast<std::uint64_t>(std::llround(depth * 1e6));
    return Rng(random_at(spec.seed, at, static_cast<std::uint64_t>(sample)));
}

// Sums of a cell's samples.
class CellSums {
public:
    void add(const Judged& judged) {
        ++samples_;
        right_ += judged.right ? 1 : 0;
        loss_ += judged.loss;
    }
    SuiteCell cell(std::int64_t length, double depth) const {
        const auto count = static_cast<double>(samples_);
        return {"niah",       length, depth, samples_, static_cast<double>(right_) / count,
                loss_ / count};
    }

private:
    std::int64_t samples_ = 0;
    std::int64_t right_ = 0;
    double loss_ = 0;
};

}  // namespace

double niah_depth(const NiahSpec& spec, int index) {
    return spec.depths == 1 ? 0.5 : static_cast<double>(index) / (spec.depths - 1);
}

Problem niah_problem(const NiahSpec& spec, double depth, std::int64_t sample, std::int64_t hay) {
    Rng random = random_of(spec, depth, sample);
    const std::vector<Needle> needles = draw_needles(1 + spec.distractors, spec.digits, random);
    std::vector<std::string> sentences = hay_sentences(hay);
    for (int i = 1; i <= spec.distractors; ++i) {
        // At the same share of the hay, however much there is.
        const double at = random.uniform() * static_cast<double>(sentences.size() + 1);
        sentences.insert(sentences.begin() + static_cast<std::ptrdiff_t>(at),
                         needle_sentence(needles[usize(i)]));
    }
    const double at = std::round(depth * static_cast<double>(sentences.size()));
    sentences.insert(sentences.begin() + static_cast<std::ptrdiff_t>(at),
                     needle_sentence(needles[0]));
    Problem problem{"", needle_answer(needles[0])};
    for (const std::string& sentence : sentences)
        problem.prompt += sentence;
    problem.prompt += needle_question(needles[0].city);
    return problem;
}

Result<ProblemTokens> niah_tokens(const NiahSpec& spec, std::int64_t length, double depth,
                                  std::int64_t sample, const Tokenizer& tokenizer) {
    const auto with = [&](std::int64_t hay) {
        return tokens_of(niah_problem(spec, depth, sample, hay), tokenizer);
    };
    const SizeOfAmount size_of = [&](std::int64_t hay) -> Result<std::int64_t> {
        RM_TRY(const ProblemTokens tokens, with(hay));
        return tokens.total();
    };
    RM_TRY(const std::optional<std::int64_t> hay, largest_amount(0, length, size_of));
    if (hay) return with(*hay);
    RM_TRY(const std::int64_t least, size_of(0));
    return invalid_argument(
        "niah: a text of {} tokens has no room for its {} needles: they and the question take {}",
        length, 1 + spec.distractors, least);
}

Result<std::vector<SuiteCell>> run_niah(const NiahSpec& spec, const SuiteRun& run) {
    std::vector<SuiteCell> cells;
    const std::int64_t all = std::ssize(spec.lengths) * spec.depths;
    for (const std::int64_t length : spec.lengths) {
        RM_TRY(const Examiner judge, run.examiner(length, niah_new_tokens(spec.digits)));
        for (int i = 0; i < spec.depths; ++i) {
            if (run.stop && run.stop(std::ssize(cells), all)) return cells;
            const double depth = niah_depth(spec, i);
            CellSums sums;
            for (std::int64_t sample = 0; sample < spec.samples; ++sample) {
                RM_TRY(const ProblemTokens problem,
                       niah_tokens(spec, length, depth, sample, run.tokenizer));
                sums.add(judge(problem, 0));
            }
            cells.push_back(sums.cell(length, depth));
        }
    }
    return cells;
}

}  // namespace rm
