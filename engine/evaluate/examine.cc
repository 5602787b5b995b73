#include "engine/evaluate/examine.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/generate/token_sampler.h"

namespace rm {
namespace {

double loss_of(std::span<const double> logits, TokenId target) {
    const double most = logits[usize(likeliest(logits))];
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit - most);
    return most + std::log(sum) - logits[usize(target)];
}

}  // namespace

Result<ProblemTokens> tokens_of(const Problem& problem, const Tokenizer& tokenizer) {
    const std::span<const TokenId> prefix = tokenizer.prefix();
    std::vector<TokenId> prompt(prefix.begin(), prefix.end()), all = prompt;
    const std::unique_ptr<Encoder> encoder = tokenizer.make_encoder();
    RM_RETURN_IF_ERROR(encoder->encode(problem.prompt, prompt));
    RM_RETURN_IF_ERROR(encoder->encode(problem.prompt + problem.answer, all));
    const auto [same, unused] = std::ranges::mismatch(all, prompt);
    return ProblemTokens{{all.begin(), same}, {same, all.end()}};
}

Judged examine(Generator& generator, const ProblemTokens& problem, std::int64_t new_tokens,
               std::optional<TokenId> end) {
    Judged judged{.right = true};
    generator.begin(problem.prompt);
    TokenId latest = problem.prompt.back();
    for (const TokenId token : problem.answer) {
        const std::span<const double> logits = generator.next(latest);
        judged.loss += loss_of(logits, token) / static_cast<double>(problem.answer.size());
        judged.right &= likeliest(logits) == token;
        latest = token;
    }
    generator.rewind();
    latest = problem.prompt.back();
    while (std::ssize(judged.said) < new_tokens) {
        latest = generator.agree(likeliest(generator.next(latest)));
        if (end && latest == *end) break;
        judged.said.push_back(latest);
    }
    return judged;
}

Examiner model_examiner(RankEngine& engine, Meeting& meeting, std::optional<TokenId> end) {
    const auto generator = std::make_shared<Generator>(engine, meeting);
    return [generator, end](const ProblemTokens& problem, std::int64_t new_tokens) {
        return examine(*generator, problem, new_tokens, end);
    };
}

}  // namespace rm
