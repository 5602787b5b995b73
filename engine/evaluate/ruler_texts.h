#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "engine/evaluate/ruler.h"

// How the texts of RULER's tasks are made.
namespace rm::ruler {

struct Haystack {
    std::int64_t amount = 0;  // pieces: lines of noise, sentences, needles, words
    std::int64_t length = 0;  // tokens that the text is for
    const std::string& essay;
};

struct Task {
    std::string_view name;
    std::int64_t new_tokens = 0;
    std::int64_t least_amount = 0;
    std::function<RulerProblem(const Haystack&, Rng&)> make;
};
// In RULER's order.
const std::vector<Task>& tasks();

}  // namespace rm::ruler
