#pragma once

#include <string>
#include <vector>

#include "engine/evaluate/examine.h"
#include "spec/evaluation/suite_spec.h"

namespace rm {

// The most tokens that follow a prompt of the suite, as its examiner is asked for.
std::int64_t suite_new_tokens(const SuiteSpec& suite);

// A suite, with what it needs besides the words of a job.
struct SuiteQuestion {
    SuiteSpec suite;                   // sound: check_suite
    std::int64_t trained_context = 0;  // tokens; 0: not known
    std::string essay = {};            // of ruler: a text that hides some needles; empty: noise
};

// Examines a model: the report but for its step. `run.stop` ends it with the cells that there are.
// invalid_argument: a length has no room for a text. Others are the examiner's.
Result<SuiteReport> run_suite(const SuiteQuestion& question, const SuiteRun& run);

}  // namespace rm
