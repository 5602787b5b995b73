#include "engine/evaluate/suite.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/evaluate/niah.h"
#include "engine/evaluate/ruler.h"

namespace rm {
namespace {

NiahSpec niah_of(const SuiteQuestion& question) {
    const SuiteSpec& suite = question.suite;
    return {.lengths = suite_lengths(suite, question.trained_context),
            .depths = suite.depths,
            .samples = suite_samples(suite),
            .distractors = suite.distractors,
            .digits = suite.digits,
            .seed = suite.seed};
}

RulerSpec ruler_of(const SuiteQuestion& question) {
    const SuiteSpec& suite = question.suite;
    return {.tasks = suite.tasks,
            .lengths = suite_lengths(suite, question.trained_context),
            .samples = suite_samples(suite),
            .seed = suite.seed,
            .essay = question.essay};
}

}  // namespace

std::int64_t suite_new_tokens(const SuiteSpec& suite) {
    if (suite.suite == SuiteKind::niah) return niah_new_tokens(suite.digits);
    std::int64_t most = 0;
    for (const std::string& task : suite.tasks.empty() ? ruler_tasks() : suite.tasks)
        most = std::max(most, ruler_room(ruler_new_tokens(task)));
    return most;
}

Result<SuiteReport> run_suite(const SuiteQuestion& question, const SuiteRun& run) {
    const SuiteSpec& suite = question.suite;
    const Stopwatch watch;
    SuiteReport report{.suite = std::string(to_string(suite.suite)),
                       .name = suite_name(suite),
                       .trained_context = question.trained_context};
    if (suite.suite == SuiteKind::niah) {
        RM_TRY(report.cells, run_niah(niah_of(question), run));
    } else {
        RM_TRY(report.cells, run_ruler(ruler_of(question), run));
        report.effective_length = effective_length(report.cells);
    }
    report.seconds = watch.seconds();
    return report;
}

}  // namespace rm
