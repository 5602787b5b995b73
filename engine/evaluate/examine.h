#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/generate/generator.h"
#include "engine/tokenizer/tokenizer.h"
#include "spec/report.h"

namespace rm {

// A text that ends where a model should give an answer.
struct Problem {
    std::string prompt;
    std::string answer;  // that follows, with its leading space
};

struct Judged {
    bool right = false;  // greedy decoding gives the answer, token for token
    double loss = 0;     // nats per token of the answer, given the prompt and the answer so far
    std::vector<TokenId> said = {};  // the continuation, if one was asked for
};

// A problem's tokens. The answer's are those that the whole text adds: where a tokenizer joins
// characters across the boundary, the token that does so is of the answer.
struct ProblemTokens {
    std::vector<TokenId> prompt;
    std::vector<TokenId> answer;
    std::int64_t total() const { return std::ssize(prompt) + std::ssize(answer); }
};
Result<ProblemTokens> tokens_of(const Problem& problem, const Tokenizer& tokenizer);

// Feeds the answer token by token after the prompt; then, if `new_tokens` is more than 0, continues
// the prompt by so many of the likeliest tokens (fewer where the document ends). All take one pass
// over the prompt. Collective; the result holds on rank 0. The stage has room for the prompt and
// for the answer or the new tokens.
Judged examine(Generator& generator, const ProblemTokens& problem, std::int64_t new_tokens,
               std::optional<TokenId> end);

// Judges problems; a test may stand in for a model.
using Examiner = std::function<Judged(const ProblemTokens&, std::int64_t new_tokens)>;
// Examines the model of an engine, whose stage has new tokens. Borrows both; collective.
Examiner model_examiner(RankEngine& engine, Meeting& meeting, std::optional<TokenId> end);
// For problems of up to `tokens`, after whose prompt up to `new_tokens` are decoded.
using MakeExaminer = std::function<Result<Examiner>(std::int64_t tokens, std::int64_t new_tokens)>;

struct SuiteRun {
    MakeExaminer examiner;
    const Tokenizer& tokenizer;
    // Called before each cell; true ends the run with what there is.
    std::function<bool(std::int64_t done, std::int64_t all)> stop = {};
};

}  // namespace rm
