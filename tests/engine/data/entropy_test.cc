#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "engine/data/text/text_source.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

TextEntropies entropies_of(const TempDir& dir) {
    const TextCorpus files = TextCorpus::open(dir.path()).value();
    const TextSource* const sources[] = {&files};
    return text_entropies(sources, Activity()).value();
}

TEST(TextEntropies, AreZeroForOneRepeatedByte) {
    TempDir dir;
    write_text(dir / "a.txt", std::string(100, 'a'));
    EXPECT_EQ(entropies_of(dir).unigram, 0);
    EXPECT_EQ(entropies_of(dir).bigram, 0);
}

TEST(TextEntropies, KnowThatTheNextByteFollowsFromTheLast) {
    TempDir dir;
    std::string text;
    for (int i = 0; i < 250; ++i)
        text += "abcd";
    write_text(dir / "a.txt", text);
    EXPECT_NEAR(entropies_of(dir).unigram, std::log(4.0), 1e-12);
    EXPECT_EQ(entropies_of(dir).bigram, 0);
}

TEST(TextEntropies, DoNotPairBytesOfTwoDocuments) {
    TempDir dir;
    write_text(dir / "a.txt", "aaaa");
    write_text(dir / "b.txt", "bbbb");
    EXPECT_NEAR(entropies_of(dir).unigram, std::log(2.0), 1e-12);
    EXPECT_EQ(entropies_of(dir).bigram, 0);
}

// The text is larger than a read block, so pairs across blocks count too.
TEST(TextEntropies, EqualTheTextbookSums) {
    TempDir dir;
    Rng rng(4);
    std::string text;
    while (text.size() < (std::size_t{1} << 20) + 1000) {
        text.push_back(static_cast<char>(rng.below(3) == 0 && !text.empty() ? text.back() ^ 1
                                                                            : 'a' + rng.below(5)));
    }
    write_text(dir / "a.txt", text);

    std::map<char, double> single;
    std::map<char, double> followed;  // all but the last byte
    std::map<std::pair<char, char>, double> pairs;
    for (std::size_t i = 0; i < text.size(); ++i) {
        single[text[i]] += 1;
        if (i == 0) continue;
        followed[text[i - 1]] += 1;
        pairs[{text[i - 1], text[i]}] += 1;
    }
    const auto n = static_cast<double>(text.size());
    double unigram = 0;
    for (const auto& [byte, count] : single)
        unigram -= count / n * std::log(count / n);
    double bigram = 0;
    for (const auto& [pair, count] : pairs) {
        bigram -= count / (n - 1) * std::log(count / followed[pair.first]);
    }
    EXPECT_NEAR(entropies_of(dir).unigram, unigram, 1e-10);
    EXPECT_NEAR(entropies_of(dir).bigram, bigram, 1e-10);
    EXPECT_LT(bigram, unigram);
}

}  // namespace
}  // namespace rm
