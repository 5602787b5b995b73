#pragma once

#include <string>
#include <vector>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {

// One mistake: the words written, the words the answer must hold, and the exit code.
struct Mistake {
    std::string said;  // its name: "sumbit"
    std::vector<std::string> words;
    std::vector<std::string> cure;  // the answer contains all of them
    int code = 2;
    std::string file = {};  // the wrong job file, written first
};

// Prints the row "  1  sumbit   ++  'sumbit' is not a command; ...", counts it, and fails when the
// answer lacks a part of the cure, has another exit code, or leaks raw words of a library.
void expect_cured(const Mistake& mistake, const Finished& answer);

// The mistakes of first-time users, each with the rows that cover it.
const std::vector<std::vector<std::string>>& first_mistakes();
// "N rows, N name the cure", and a failure for each of the first mistakes without a row so far.
void expect_a_row_for_each();

// A good job file with `line` in place of that of `key` (name, model, data, stages, extra).
std::string job_with(const std::string& key, const std::string& line);
// The same with one stage of these fields.
std::string job_with_stage(const std::string& fields);

}  // namespace rm::e2e
