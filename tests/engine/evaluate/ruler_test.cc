// The texts of RULER's tasks against their published definitions, and what known examinees score.
#include "engine/evaluate/ruler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

namespace rm {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const RulerSpec kSpec{.lengths = {4096}};

RulerProblem problem(const std::string& task, std::int64_t amount = 200, std::int64_t length = 8192,
                     std::int64_t sample = 0) {
    return ruler_problem(kSpec, task, length, sample, amount);
}

// Key and value of each needle.
std::multimap<std::string, std::string> needles_of(const std::string& prompt) {
    std::multimap<std::string, std::string> needles;
    const std::regex needle("One of the special magic (\\w+) for ([^ ]+) is: ([^ ]+)\\.");
    for (std::sregex_iterator at(prompt.begin(), prompt.end(), needle), end; at != end; ++at)
        needles.emplace((*at)[2], (*at)[3]);
    return needles;
}

TEST(Ruler, HasTheElevenTasksThatNeedNoDataSet) {
    EXPECT_THAT(ruler_tasks(),
                testing::ElementsAre("niah_single_1", "niah_single_2", "niah_single_3",
                                     "niah_multikey_1", "niah_multikey_2", "niah_multikey_3",
                                     "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe"));
    EXPECT_EQ(ruler_new_tokens("niah_multikey_2"), 128);
    EXPECT_EQ(ruler_new_tokens("vt"), 30);
    EXPECT_EQ(ruler_new_tokens("cwe"), 120);
    EXPECT_EQ(ruler_new_tokens("fwe"), 50);
}

struct NeedleCase {
    const char* task;
    std::size_t needles;  // but for those of the haystack
    std::size_t answers;
    const char* values;
};

TEST(Ruler, HidesAsManyNeedlesAsTheTaskHasAndAsksForThem) {
    const std::regex number("[1-9]\\d{6}"), word("[a-z]{6}-[a-z]{6}"),
        uuid("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    for (const NeedleCase& c :
         {NeedleCase{"niah_single_1", 1, 1, "number"}, NeedleCase{"niah_single_2", 1, 1, "number"},
          NeedleCase{"niah_single_3", 1, 1, "uuid"}, NeedleCase{"niah_multikey_1", 4, 1, "number"},
          NeedleCase{"niah_multikey_2", 201, 1, "number"},
          NeedleCase{"niah_multikey_3", 201, 1, "uuid"},
          NeedleCase{"niah_multivalue", 4, 4, "number"},
          NeedleCase{"niah_multiquery", 4, 4, "number"}}) {
        SCOPED_TRACE(c.task);
        const RulerProblem made = problem(c.task);
        const auto needles = needles_of(made.prompt);
        EXPECT_EQ(needles.size(), c.needles);
        ASSERT_EQ(made.answers.size(), c.answers);
        const bool uuids = std::string(c.values) == "uuid";
        std::size_t asked = 0;
        const std::string question = made.prompt.substr(made.prompt.rfind("\nWhat"));
        for (const auto& [key, value] : needles) {
            EXPECT_TRUE(std::regex_match(value, uuids ? uuid : number)) << value;
            const bool keys_are_uuids = std::string(c.task) == "niah_multikey_3";
            EXPECT_TRUE(std::regex_match(key, keys_are_uuids ? uuid : word)) << key;
            if (question.find(key) == question.npos) continue;
            ++asked;
            EXPECT_THAT(made.answers, testing::Contains(value));
        }
        EXPECT_EQ(asked, c.answers) << "each asked needle is there once";
        const std::string kind = c.values;
        if (c.answers == 1) {
            EXPECT_THAT(made.prompt,
                        StartsWith("A special magic " + kind +
                                   " is hidden within the following "
                                   "text. Make sure to memorize it. I will quiz you about the " +
                                   kind + " afterwards.\n"));
            EXPECT_THAT(question, HasSubstr("What is the special magic " + kind + " for "));
            EXPECT_TRUE(made.prompt.ends_with(" mentioned in the provided text is"));
        } else {
            EXPECT_THAT(made.prompt, StartsWith("Some special magic numbers are hidden within"));
            EXPECT_THAT(question, HasSubstr("What are all the special magic numbers for "));
            EXPECT_TRUE(made.prompt.ends_with(" mentioned in the provided text are"));
        }
    }
    EXPECT_THAT(problem("niah_single_1").prompt,
                HasSubstr("\nThe grass is green. The sky is blue. The sun is yellow. Here we go. "
                          "There and back again.\n"));
}

TEST(Ruler, TracksAChainOfFourHopsAfterAnAnsweredExample) {
    const RulerProblem made = problem("vt", 40);
    ASSERT_EQ(made.answers.size(), 5u);
    const std::size_t second = made.prompt.rfind("Memorize and track the chain(s)");
    ASSERT_GT(second, 0u) << "the example comes first";
    const std::string asked = made.prompt.substr(second);
    std::smatch value;
    const std::regex first("VAR ([A-Z]{5}) = (\\d{5})\n");
    ASSERT_TRUE(std::regex_search(asked, value, first));
    EXPECT_EQ(value[1], made.answers[0]);
    EXPECT_THAT(asked, HasSubstr("Find all variables that are assigned the value " +
                                 value[2].str() + " in the text above."));
    EXPECT_TRUE(
        asked.ends_with("5 variables are assigned the value " + value[2].str() + ", they are: "));
    std::size_t at = 0;
    for (std::size_t i = 1; i < 5; ++i) {
        const std::size_t found =
            asked.find("VAR " + made.answers[i] + " = VAR " + made.answers[i - 1] + " ");
        ASSERT_NE(found, asked.npos);
        EXPECT_GT(found, at) << "in the chain's order";
        at = found;
    }
    const std::string example = made.prompt.substr(0, second);
    EXPECT_TRUE(std::regex_search(example, std::regex("VAR [A-Z]{3} = \\d{5}\n")));
    EXPECT_TRUE(std::regex_search(example, std::regex("they are:  ([A-Z]{3} ){4}[A-Z]{3}\n\n$")));
}

// Counts the words of the last numbered list.
std::map<std::string, int> counts_of_list(const std::string& prompt) {
    std::map<std::string, int> counts;
    const std::string list = prompt.substr(prompt.rfind("Below is a numbered list"));
    const std::regex item("\\d+\\. ([a-z]+)");
    for (std::sregex_iterator at(list.begin(), list.end(), item), end; at != end; ++at)
        ++counts[(*at)[1]];
    return counts;
}

TEST(Ruler, RepeatsCommonWordsThirtyTimesAndOthersThree) {
    for (const std::int64_t length : {8192, 2048}) {
        const RulerProblem made = problem("cwe", 50, length);
        ASSERT_EQ(made.answers.size(), 10u);
        const std::set<std::string> common(made.answers.begin(), made.answers.end());
        const auto counts = counts_of_list(made.prompt);
        EXPECT_EQ(counts.size(), 60u);
        for (const auto& [word, count] : counts) {
            const bool is_common = common.count(word) > 0;
            EXPECT_EQ(count, length < 4096 ? (is_common ? 6 : 1) : (is_common ? 30 : 3)) << word;
        }
        EXPECT_THAT(made.prompt, HasSubstr("the list are: 1. ")) << "an answered example";
    }
}

TEST(Ruler, DrawsCodedWordsByZipfsLaw) {
    const RulerProblem made = problem("fwe", 1000);
    std::map<std::string, int> counts;
    const std::size_t end = made.prompt.find("\nQuestion");
    const std::string head = "Find the three most frequently appeared coded words. ";
    const std::size_t begin = made.prompt.find(head) + head.size();
    std::istringstream text(made.prompt.substr(begin, end - begin));
    for (std::string word; text >> word;)
        ++counts[word];
    // 1000 n^-2 / zeta(2)
    EXPECT_EQ(counts["..."], 607);
    ASSERT_EQ(made.answers.size(), 3u);
    EXPECT_EQ(counts[made.answers[0]], 151);
    EXPECT_EQ(counts[made.answers[1]], 67);
    EXPECT_EQ(counts[made.answers[2]], 37);
    for (const auto& [word, count] : counts) {
        if (word == "..." || testing::Matches(testing::Contains(word))(made.answers)) continue;
        EXPECT_LT(count, 37);
    }
}

TEST(Ruler, TheSameSeedGivesTheSameText) {
    RulerSpec other = kSpec;
    other.seed = 2;
    for (const std::string& task : ruler_tasks()) {
        const RulerProblem first = ruler_problem(kSpec, task, 4096, 1, 150);
        const RulerProblem again = ruler_problem(kSpec, task, 4096, 1, 150);
        EXPECT_EQ(first.prompt, again.prompt) << task;
        EXPECT_EQ(first.answers, again.answers) << task;
        EXPECT_NE(first.prompt, ruler_problem(kSpec, task, 4096, 2, 150).prompt) << task;
        EXPECT_NE(first.prompt, ruler_problem(other, task, 4096, 1, 150).prompt) << task;
    }
    // Word for word: another text would make scores of two builds incomparable.
    EXPECT_THAT(problem("niah_multikey_1", 4).answers, testing::ElementsAre("2251924"));
    EXPECT_THAT(problem("vt", 10).answers,
                testing::ElementsAre("VJROD", "DYXSG", "HXBGG", "KXMFT", "XGIWE"));
    EXPECT_EQ(problem("cwe", 10).answers[0], "kiyeci");
    EXPECT_EQ(problem("fwe", 200).answers[0], "bhbnrt");
}

TEST(Ruler, HidesNeedlesInATextOfTheUser) {
    RulerSpec spec = kSpec;
    spec.essay = "One thing. Another\nthing. And a third.";
    const RulerProblem made = ruler_problem(spec, "niah_single_2", 4096, 0, 7);
    EXPECT_THAT(made.prompt, HasSubstr("One thing."));
    EXPECT_THAT(made.prompt, HasSubstr("Another thing."));
    EXPECT_EQ(made.prompt.find("The grass is green"), made.prompt.npos);
    EXPECT_NE(ruler_problem(spec, "niah_single_1", 4096, 0, 7).prompt.find("The grass is green"),
              made.prompt.npos);
}

TEST(RulerScore, IsTheShareOfAnswersInTheText) {
    EXPECT_EQ(ruler_score("they are ABC and def", {"abc", "DEF"}), 1);
    EXPECT_EQ(ruler_score("abc", {"abc", "def", "ghi", "jkl"}), 0.25);
    EXPECT_EQ(ruler_score("", {"abc"}), 0);
}

std::vector<SuiteCell> scores(const RulerSpec& spec, const Examiner& examiner) {
    const ByteTokenizer bytes;
    const MakeExaminer make = [&](std::int64_t, std::int64_t) {
        return Result<Examiner>(examiner);
    };
    return run_ruler(spec, {make, bytes}).value();
}

TEST(Ruler, ACopyMachineAndAnEmptyMachineScoreWhatTheyMust) {
    const RulerSpec spec{.lengths = {8000, 12000}, .samples = 2};
    // Knows the answer and says it.
    const auto knows = scores(spec, [&](const ProblemTokens& problem, std::int64_t new_tokens) {
        EXPECT_LE(std::ssize(problem.prompt) + new_tokens, 12000);
        return Judged{true, 0, problem.answer};
    });
    ASSERT_EQ(knows.size(), 22u);
    for (const SuiteCell& cell : knows)
        EXPECT_EQ(cell.score, 1) << cell.task;
    EXPECT_EQ(effective_length(knows), 12000);
    // Repeats the end of the prompt: has none of the answers, but for variables that stand there.
    const auto repeats = scores(spec, [&](const ProblemTokens& problem, std::int64_t new_tokens) {
        const auto count = static_cast<std::ptrdiff_t>(new_tokens);
        return Judged{false, 5, {problem.prompt.end() - count, problem.prompt.end()}};
    });
    for (const SuiteCell& cell : repeats) {
        EXPECT_EQ(cell.score, 0) << cell.task;
        EXPECT_DOUBLE_EQ(cell.loss, 5);
    }
    EXPECT_EQ(effective_length(repeats), 0);
    // Repeats the whole prompt, however long: every answer stands there.
    const auto copies = scores(spec, [&](const ProblemTokens& problem, std::int64_t) {
        return Judged{false, 1, problem.prompt};
    });
    for (const SuiteCell& cell : copies)
        EXPECT_EQ(cell.score, 1) << cell.task;
}

TEST(Ruler, TheEffectiveLengthIsTheLongestUpToWhichAllPass) {
    const auto cells = [](std::initializer_list<std::pair<std::int64_t, double>> scores) {
        std::vector<SuiteCell> all;
        for (const auto& [length, score] : scores)
            all.push_back({.task = "vt", .length = length, .score = score});
        return all;
    };
    EXPECT_EQ(effective_length(cells({{4096, 0.9}, {8192, 0.86}, {16384, 0.8}})), 8192);
    EXPECT_EQ(effective_length(cells({{4096, 0.9}, {8192, 0.5}, {16384, 0.9}})), 4096);
    EXPECT_EQ(effective_length(cells({{4096, 0.8}})), 0);
    EXPECT_EQ(effective_length(cells({{4096, 1}, {4096, 0.7}})), 0) << "a mean of 85 %";
}

TEST(Ruler, RefusesWhatItDoesNotKnow) {
    EXPECT_TRUE(std::ranges::equal(ruler_tasks(), kRulerTasks));
    const ByteTokenizer bytes;
    const MakeExaminer none = [](std::int64_t, std::int64_t) {
        return Result<Examiner>(Examiner{});
    };
    const auto failed = run_ruler({.tasks = {"cwe"}, .lengths = {500}}, {none, bytes});
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message, HasSubstr("ruler: cwe has no room in 500 tokens"));
}

}  // namespace
}  // namespace rm
