// The texts of needle-in-a-haystack, and what known examinees score.
#include "engine/evaluate/niah.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

namespace rm {
namespace {

using testing::HasSubstr;

std::int64_t count_of(const std::string& text, const std::string& part) {
    std::int64_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

std::string text_of(std::span<const TokenId> tokens) {
    return ByteTokenizer().decode(tokens, SpecialTokens::keep).value();
}

// Reads the fact that the question asks for: the examinee that uses its whole context.
std::string looked_up(const std::string& prompt) {
    std::smatch found;
    const std::regex question("What is the magic number of (\\w+)\\?");
    RM_CHECK(std::regex_search(prompt, found, question), "no question");
    const std::regex fact("The magic number of " + found[1].str() + " is (\\d+)\\.");
    if (!std::regex_search(prompt, found, fact)) return "";
    return " " + found[1].str();
}

TEST(Needles, AreDifferentCitiesWithNumbersOfTheirDigits) {
    Rng random(3);
    const std::vector<Needle> needles = draw_needles(kMostNeedles, 7, random);
    std::set<std::string_view> cities;
    for (const Needle& needle : needles) {
        cities.insert(needle.city);
        EXPECT_EQ(needle.number.size(), 7u);
        EXPECT_NE(needle.number[0], '0');
    }
    EXPECT_EQ(std::ssize(cities), kMostNeedles);
}

TEST(Niah, HidesTheNeedleAtItsDepthAndAsksForIt) {
    const NiahSpec spec{.lengths = {1000}, .depths = 5, .distractors = 3, .digits = 5};
    for (int i = 0; i < spec.depths; ++i) {
        const double depth = niah_depth(spec, i);
        const Problem problem = niah_problem(spec, depth, 0, 40);
        EXPECT_EQ(looked_up(problem.prompt), problem.answer);
        EXPECT_EQ(count_of(problem.prompt, "The magic number of"), 1 + 3 + 1);
        EXPECT_TRUE(problem.prompt.ends_with(" is")) << problem.prompt;
        // 43 sentences before the needle goes in.
        const std::size_t at = problem.prompt.find(problem.answer + ". ");
        const auto sentences = count_of(problem.prompt.substr(0, at), ". ");
        EXPECT_EQ(sentences, std::llround(depth * 43)) << depth;
    }
}

TEST(Niah, TheSameSeedGivesTheSameText) {
    const NiahSpec spec{.lengths = {500}, .distractors = 2};
    NiahSpec other = spec;
    other.seed = 2;
    const std::string text = niah_problem(spec, 0.5, 3, 10).prompt;
    EXPECT_EQ(text, niah_problem(spec, 0.5, 3, 10).prompt);
    EXPECT_NE(text, niah_problem(spec, 0.5, 4, 10).prompt);
    EXPECT_NE(text, niah_problem(other, 0.5, 3, 10).prompt);
    EXPECT_EQ(niah_problem({.lengths = {500}}, 0, 0, 3).prompt,
              "The magic number of Manila is 1229. The grass is green. The sky is blue. The sun is "
              "yellow. What is the magic number of Manila? The magic number of Manila is");
}

TEST(Niah, FillsALengthWithHay) {
    const NiahSpec spec{.lengths = {700}, .distractors = 1};
    const ByteTokenizer bytes;
    for (const std::int64_t length : {160, 256, 700, 5000}) {
        const ProblemTokens tokens = niah_tokens(spec, length, 0.25, 1, bytes).value();
        EXPECT_LE(tokens.total(), length);
        EXPECT_GT(tokens.total(), length - 24) << "one more sentence would fit";
        EXPECT_EQ(text_of(tokens.answer), looked_up(text_of(tokens.prompt)));
    }
    const auto none = niah_tokens(spec, 100, 0.25, 1, bytes);
    ASSERT_FALSE(none.ok());
    EXPECT_THAT(none.error().message, HasSubstr("a text of 100 tokens has no room for its 2"));
}

// Scores of examinees whose answers are known.
std::vector<SuiteCell> scores(const NiahSpec& spec, const Examiner& examiner) {
    const ByteTokenizer bytes;
    const MakeExaminer make = [&](std::int64_t tokens, std::int64_t answer) -> Result<Examiner> {
        EXPECT_EQ(answer, spec.digits + 1);
        EXPECT_TRUE(std::ranges::count(spec.lengths, tokens));
        return examiner;
    };
    return run_niah(spec, {make, bytes}).value();
}

TEST(Niah, AnExamineeThatLooksUpIsAlwaysRightAndOneThatGuessesNever) {
    const NiahSpec spec{.lengths = {400, 800}, .depths = 3, .samples = 5, .distractors = 2};
    const auto up = scores(spec, [](const ProblemTokens& problem, std::int64_t) {
        return Judged{looked_up(text_of(problem.prompt)) == text_of(problem.answer), 0.25};
    });
    ASSERT_EQ(up.size(), 6u);
    EXPECT_EQ(up[0], (SuiteCell{"niah", 400, 0, 5, 1, 0.25}));
    EXPECT_EQ(up[5], (SuiteCell{"niah", 800, 1, 5, 1, 0.25}));
    // Sees only the last 300 bytes: finds the needle where it lies among them.
    const auto near = scores(spec, [](const ProblemTokens& problem, std::int64_t) {
        const std::string text = text_of(problem.prompt);
        const std::string seen = text.substr(text.size() - std::min<std::size_t>(300, text.size()));
        return Judged{looked_up(seen) == text_of(problem.answer), 1};
    });
    EXPECT_EQ(near[0].score, 0) << "at the beginning of 400";
    EXPECT_EQ(near[2].score, 1) << "at the end";
    EXPECT_EQ(near[3].score, 0);
    EXPECT_EQ(near[5].score, 1);
    Rng random(1);
    const auto guess = scores(spec, [&](const ProblemTokens& problem, std::int64_t) {
        Rng& r = random;
        return Judged{" " + draw_needles(1, 4, r)[0].number == text_of(problem.answer), 9};
    });
    for (const SuiteCell& cell : guess)
        EXPECT_EQ(cell.score, 0);
}

TEST(Niah, EndsBetweenCells) {
    const ByteTokenizer bytes;
    const MakeExaminer none = [](std::int64_t, std::int64_t) {
        return Result<Examiner>([](const ProblemTokens&, std::int64_t) { return Judged{}; });
    };
    const NiahSpec spec{.lengths = {400}, .depths = 4};
    const auto stop = [](std::int64_t done, std::int64_t all) {
        EXPECT_EQ(all, 4);
        return done == 2;
    };
    EXPECT_EQ(run_niah(spec, {none, bytes, stop}).value().size(), 2u);
}

TEST(NeedleDocuments, OnlyAskForWhatTheyHaveSaid) {
    const NeedleDocuments spec{.from = 90, .to = 700, .total = 300'000, .digits = 4, .seed = 5};
    std::int64_t bytes = 0, questions = 0;
    std::string first;
    write_needle_documents(spec, [&](std::string_view view) {
        const std::string text(view);
        if (first.empty()) first = text;
        bytes += std::ssize(text);
        ASSERT_LE(std::ssize(text), spec.to);
        const std::regex asked(
            "What is the magic number of (\\w+)\\? The magic number of (\\w+) is (\\d+)\\. ");
        for (std::sregex_iterator at(text.begin(), text.end(), asked), end; at != end; ++at) {
            ++questions;
            EXPECT_EQ((*at)[1], (*at)[2]);
            const std::string fact =
                "The magic number of " + (*at)[1].str() + " is " + (*at)[3].str() + ". ";
            EXPECT_LT(text.find(fact), static_cast<std::size_t>(at->position())) << text;
        }
    });
    EXPECT_GE(bytes, spec.total);
    EXPECT_LT(bytes, spec.total + spec.to);
    EXPECT_GT(questions, 1000);
    std::string again;
    write_needle_documents({.from = 90, .to = 700, .total = 1, .seed = 5},
                           [&](std::string_view text) { again = text; });
    EXPECT_EQ(again, first);
}

TEST(ProblemTokens, SplitWhereTheAnswerBegins) {
    const ByteTokenizer bytes;
    const ProblemTokens tokens = tokens_of({"ab", " 12"}, bytes).value();
    EXPECT_THAT(tokens.prompt, testing::ElementsAre('a', 'b'));
    EXPECT_THAT(tokens.answer, testing::ElementsAre(' ', '1', '2'));
}

}  // namespace
}  // namespace rm
