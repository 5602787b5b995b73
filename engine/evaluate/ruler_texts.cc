#include "engine/evaluate/ruler_texts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/format.h"
#include "base/text.h"
#include "base/usize.h"
#include "engine/evaluate/coined_words.h"

namespace rm::ruler {
namespace {

constexpr std::string_view kNoise =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
constexpr std::int64_t kShortText = 4096;  // below it some tasks repeat words less often

template <typename T>
void shuffle(std::vector<T>& list, Rng& random) {
    for (std::size_t i = list.size(); i > 1; --i)
        std::swap(list[i - 1], list[random.below(i)]);
}

// Different places of [0, count), ascending.
std::vector<std::size_t> draw_places(std::size_t count, std::int64_t all, Rng& random) {
    std::set<std::size_t> places;
    while (places.size() < count)
        places.insert(random.below(static_cast<std::uint64_t>(all)));
    return {places.begin(), places.end()};
}

// ---- Needles

enum class Hay { noise, essay, needles };
enum class Kind { words, numbers, uuids };

struct NeedleTask {
    Hay hay = Hay::noise;
    Kind keys = Kind::words;
    Kind values = Kind::numbers;
    int num_keys = 1;
    int num_values = 1;   // of each key
    int num_queries = 1;  // keys that are asked for
};

std::string_view plural(Kind kind) {
    return kind == Kind::numbers ? "numbers" : kind == Kind::uuids ? "uuids" : "words";
}

std::string draw_uuid(Rng& random) {
    std::string uuid = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
    for (char& c : uuid) {
        if (c == 'x') c = "0123456789abcdef"[random.below(16)];
        if (c == 'y') c = "89ab"[random.below(4)];
    }
    return uuid;
}

// Draws stand in statements of their own: the order in which operands are evaluated is up to the
// compiler.
std::string draw(Kind kind, Rng& random) {
    constexpr std::uint64_t kLeast = 1'000'000, kMost = 9'999'999;
    if (kind == Kind::uuids) return draw_uuid(random);
    if (kind == Kind::numbers) return format("{}", kLeast + random.below(kMost - kLeast + 1));
    const std::string first = coin_word(random);
    return first + "-" + coin_word(random);
}

std::string needle(Kind values, const std::string& key, const std::string& value) {
    return format("One of the special magic {} for {} is: {}.", plural(values), key, value);
}

std::vector<std::string> sentences_of(std::string_view essay, std::int64_t count) {
    std::vector<std::string> sentences;
    std::size_t at = 0;
    while (std::ssize(sentences) < count) {
        std::size_t end = essay.find(". ", at);
        end = end == essay.npos ? essay.size() : end + 1;
        std::string sentence(essay.substr(at, end - at));
        std::ranges::replace(sentence, '\n', ' ');
        if (!sentence.empty()) sentences.push_back(std::move(sentence));
        at = end + 1;
        if (at >= essay.size()) at = 0;  // a short one again
    }
    return sentences;
}

class NeedleText {
public:
    NeedleText(const NeedleTask& task, const Haystack& hay, Rng& random)
        : task_(task), hay_(hay), random_(random) {
        for (int i = 0; i < task.num_keys; ++i)
            draw_key();
    }

    RulerProblem make() {
        std::vector<std::string> asked, answers;
        std::vector<std::string> needles = needles_;
        shuffle(needles, random_);
        for (const std::size_t i :
             draw_places(usize(task_.num_queries), std::ssize(keys_), random_)) {
            asked.push_back(keys_[i]);
            answers.insert(answers.end(), values_[i].begin(), values_[i].end());
        }
        return {prompt(context(needles), query_of(asked)), answers};
    }

private:
    void draw_key() {
        keys_.push_back(draw(task_.keys, random_));
        values_.emplace_back();
        for (int i = 0; i < task_.num_values; ++i) {
            values_.back().push_back(draw(task_.values, random_));
            needles_.push_back(needle(task_.values, keys_.back(), values_.back().back()));
        }
    }
    // "a", "a, and b", "a, b, and c"
    static std::string query_of(const std::vector<std::string>& keys) {
        std::string text = keys[0];
        for (std::size_t i = 1; i < keys.size(); ++i)
            text += (i + 1 == keys.size() ? ", and " : ", ") + keys[i];
        return text;
    }
    std::vector<std::string> pieces() {
        if (task_.hay == Hay::essay && !hay_.essay.empty())
            return sentences_of(hay_.essay, hay_.amount);
        std::vector<std::string> all(usize(hay_.amount), std::string(kNoise));
        if (task_.hay != Hay::needles) return all;
        for (std::string& piece : all) {
            const std::string key = other_key();
            piece = needle(task_.values, key, draw(task_.values, random_));
        }
        return all;
    }
    // Not one of those that are hidden.
    std::string other_key() {
        while (true) {
            std::string key = draw(task_.keys, random_);
            if (std::ranges::count(keys_, key) == 0) return key;
        }
    }
    std::string context(const std::vector<std::string>& needles) {
        std::vector<std::string> all = pieces();
        const auto places = draw_places(needles.size(), std::ssize(all), random_);
        for (std::size_t i = places.size(); i-- > 0;)
            all.insert(all.begin() + static_cast<std::ptrdiff_t>(places[i]), needles[i]);
        return join(all, task_.hay == Hay::essay && !hay_.essay.empty() ? " " : "\n");
    }
    std::string prompt(const std::string& context, const std::string& query) const {
        std::string kind(plural(task_.values));
        if (task_.num_queries * task_.num_values > 1) {
            return format(
                "Some special magic {} are hidden within the following text. Make sure "
                "to memorize it. I will quiz you about the {} afterwards.\n{}\nWhat are "
                "all the special magic {} for {} mentioned in the provided text? The "
                "special magic {} for {} mentioned in the provided text are",
                kind, kind, context, kind, query, kind, query);
        }
        kind.pop_back();
        return format(
            "A special magic {} is hidden within the following text. Make sure to "
            "memorize it. I will quiz you about the {} afterwards.\n{}\nWhat is the "
            "special magic {} for {} mentioned in the provided text? The special magic "
            "{} for {} mentioned in the provided text is",
            kind, kind, context, kind, query, kind, query);
    }

    const NeedleTask& task_;
    const Haystack& hay_;
    Rng& random_;
    std::vector<std::string> keys_;
    std::vector<std::vector<std::string>> values_;  // by key
    std::vector<std::string> needles_;
};

Task needle_task(std::string_view name, const NeedleTask& task) {
    return {
        name, 128, std::int64_t{1} * task.num_keys * task.num_values,
        [task](const Haystack& hay, Rng& random) { return NeedleText(task, hay, random).make(); }};
}

// ---- Variable tracking

constexpr int kHops = 4;

// kHops + 1 variables: the first is assigned a value, each other the one before it.
struct Chain {
    Chain(int letters, Rng& random) : value(format("{}", 10000 + random.below(89999))) {
        while (variables.size() < kHops + 1) {
            std::string name;
            while (std::ssize(name) < letters)
                name += static_cast<char>('A' + random.below(26));
            if (std::ranges::count(variables, name) == 0) variables.push_back(name);
        }
    }
    std::string assignment(std::size_t i) const {
        if (i == 0) return format("VAR {} = {}", variables[0], value);
        return format("VAR {} = VAR {} ", variables[i], variables[i - 1]);
    }
    std::string value;
    std::vector<std::string> variables;
};

std::string tracking_prompt(const Chain& chain, std::int64_t noise, Rng& random) {
    std::vector<std::string> lines(usize(noise), std::string(kNoise));
    const auto places = draw_places(chain.variables.size(), noise, random);
    for (std::size_t i = 0; i < places.size(); ++i)
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(places[i] + i),
                     chain.assignment(i));
    return format(
        "Memorize and track the chain(s) of variable assignment hidden in the following "
        "text.\n\n{}\nQuestion: Find all variables that are assigned the value {} in the "
        "text above. Answer: According to the chain(s) of variable assignment in the "
        "text above, {} variables are assigned the value {}, they are: ",
        join(lines, "\n"), chain.value, kHops + 1, chain.value);
}

// With an answered example before it.
RulerProblem make_tracking(const Haystack& hay, Rng& random) {
    const Chain example(3, random), chain(5, random);
    const std::string shown = tracking_prompt(example, kHops + 1, random);
    return {shown + " " + join(example.variables, " ") + "\n\n" +
                tracking_prompt(chain, hay.amount, random),
            chain.variables};
}

// ---- Words that are common or frequent

constexpr std::size_t kCommon = 10;

struct Repeats {
    int common, others;
};

struct WordList {
    std::string text;                 // numbered
    std::vector<std::string> common;  // kCommon
};

// `others`: different words beside the common ones.
WordList draw_list(WordCoiner& coiner, std::int64_t others, Repeats repeats, Rng& random) {
    WordList list;
    std::vector<std::string> words;
    const auto add = [&](const std::string& word, int times) {
        words.insert(words.end(), usize(times), word);
    };
    while (list.common.size() < kCommon) {
        list.common.push_back(coiner.next());
        add(list.common.back(), repeats.common);
    }
    for (std::int64_t i = 0; i < others; ++i)
        add(coiner.next(), repeats.others);
    shuffle(words, random);
    for (std::size_t i = 0; i < words.size(); ++i)
        list.text += format("{}{}. {}", i == 0 ? "" : " ", i + 1, words[i]);
    return list;
}

std::string common_prompt(const WordList& list) {
    return "Below is a numbered list of words. In these words, some appear more often than others. "
           "Memorize the ones that appear most often.\n" +
           list.text +
           "\nQuestion: What are the 10 most common words in the above list? Answer: The top 10 "
           "words that appear most often in the list are:";
}

RulerProblem make_common_words(const Haystack& hay, Rng& random) {
    WordCoiner coiner(random);
    const bool is_short = hay.length < kShortText;
    const Repeats shown = is_short ? Repeats{3, 1} : Repeats{10, 3};
    const Repeats asked = is_short ? Repeats{6, 1} : Repeats{30, 3};
    const WordList example = draw_list(coiner, is_short ? 10 : 30, shown, random);
    const WordList list = draw_list(coiner, hay.amount, asked, random);
    std::string answer;
    for (std::size_t i = 0; i < kCommon; ++i)
        answer += format(" {}. {}", i + 1, example.common[i]);
    return {common_prompt(example) + answer + "\n" + common_prompt(list), list.common};
}

constexpr double kZipf = 2;
constexpr double kZeta = 1.6449340668482264;  // of kZipf
constexpr std::size_t kAsked = 3;

std::string draw_code(Rng& random) {
    std::string word;
    while (word.size() < 6)
        word += static_cast<char>('a' + random.below(26));
    return word;
}

// Word n appears amount n^-2 / zeta(2) times; the first is noise of dots.
RulerProblem make_frequent_words(const Haystack& hay, Rng& random) {
    RulerProblem problem;
    std::vector<std::string> words;
    for (std::size_t n = 1;; ++n) {
        const double share = std::pow(static_cast<double>(n), -kZipf) / kZeta;
        const auto times = static_cast<std::size_t>(static_cast<double>(hay.amount) * share);
        if (times == 0) break;
        const std::string word = n == 1 ? "..." : draw_code(random);
        if (n > 1 && problem.answers.size() < kAsked) problem.answers.push_back(word);
        words.insert(words.end(), times, word);
    }
    shuffle(words, random);
    problem.prompt =
        "Read the following coded text and track the frequency of each coded word. Find the three "
        "most frequently appeared coded words. " +
        join(words, " ") +
        "\nQuestion: Do not provide any explanation. Please ignore the dots '....'. What are the "
        "three most frequently appeared words in the above coded text? Answer: According to the "
        "coded text above, the three most frequently appeared words are:";
    return problem;
}

}  // namespace

const std::vector<Task>& tasks() {
    constexpr Kind kWords = Kind::words, kNumbers = Kind::numbers, kUuids = Kind::uuids;
    // The third word of four appears 27 times less often than all: below it two would be as
    // frequent.
    constexpr std::int64_t kLeastCoded = 120;
    static const std::vector<Task> all = {
        needle_task("niah_single_1", {Hay::noise, kWords, kNumbers}),
        needle_task("niah_single_2", {Hay::essay, kWords, kNumbers}),
        needle_task("niah_single_3", {Hay::essay, kWords, kUuids}),
        needle_task("niah_multikey_1", {Hay::essay, kWords, kNumbers, 4}),
        needle_task("niah_multikey_2", {Hay::needles, kWords, kNumbers}),
        needle_task("niah_multikey_3", {Hay::needles, kUuids, kUuids}),
        needle_task("niah_multivalue", {Hay::essay, kWords, kNumbers, 1, 4}),
        needle_task("niah_multiquery", {Hay::essay, kWords, kNumbers, 4, 1, 4}),
        {"vt", 30, kHops + 1, make_tracking},
        {"cwe", 120, 10, make_common_words},
        {"fwe", 50, kLeastCoded, make_frequent_words}};
    return all;
}

}  // namespace rm::ruler
