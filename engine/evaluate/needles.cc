#include "engine/evaluate/needles.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/usize.h"

namespace rm {
namespace {

constexpr std::array<std::string_view, kMostNeedles> kCities = {
    "Accra",  "Athens", "Berlin",  "Bogota", "Cairo",  "Cardiff", "Dakar",   "Delhi",
    "Dublin", "Geneva", "Hanoi",   "Havana", "Kigali", "Lagos",   "Lima",    "Lisbon",
    "London", "Madrid", "Malmo",   "Manila", "Milan",  "Minsk",   "Nairobi", "Oslo",
    "Ottawa", "Paris",  "Perth",   "Porto",  "Prague", "Quito",   "Riga",    "Rome",
    "Seoul",  "Sofia",  "Tallinn", "Tokyo",  "Tunis",  "Turin",   "Vienna",  "Warsaw"};

// Those of RULER's haystack of noise (Hsieh et al., 2024).
constexpr std::array<std::string_view, 5> kHay = {"The grass is green. ", "The sky is blue. ",
                                                  "The sun is yellow. ", "Here we go. ",
                                                  "There and back again. "};

// A needle and a question take so many bytes, about.
constexpr std::int64_t kBytesPerNeedle = 130;
constexpr int kMostInHay = 8;

// The share of hay in documents with questions all through.
constexpr std::array<double, 3> kHayBetween = {0, 0.3, 0.6};

std::string draw_number(int digits, Rng& random) {
    std::string number(1, static_cast<char>('1' + random.below(9)));
    while (std::ssize(number) < digits)
        number += static_cast<char>('0' + random.below(10));
    return number;
}

// The sentences of one document, up to its length.
class Sentences {
public:
    Sentences(std::int64_t length, Rng& random)
        : length_(length), hay_(static_cast<std::int64_t>(random.below(kHay.size()))) {}
    bool add(std::string_view sentence) {
        if (std::ssize(text_) + std::ssize(sentence) > length_) return false;
        text_ += sentence;
        return true;
    }
    bool add_hay() { return add(haystack_sentence(hay_++)); }
    std::string take() { return std::move(text_); }

private:
    std::int64_t length_;
    std::int64_t hay_;
    std::string text_;
};

// Needles, and questions about any that came before, with more or less hay between them.
std::string dense_document(std::int64_t length, int digits, Rng& random) {
    std::vector<Needle> needles = draw_needles(kMostNeedles, digits, random);
    Sentences sentences(length, random);
    const double hay = kHayBetween[random.below(kHayBetween.size())];
    std::size_t shown = 0;
    while (true) {
        const bool shows = shown == 0 || (shown < needles.size() && random.uniform() < 0.4);
        const bool added = random.uniform() < hay ? sentences.add_hay()
                           : shows                ? sentences.add(needle_sentence(needles[shown++]))
                                   : sentences.add(answered(needles[random.below(shown)]));
        if (!added) return sentences.take();
    }
}

// Needles anywhere in the hay, and questions about some of them at the end.
std::string hay_document(std::int64_t length, int digits, Rng& random) {
    const auto most = std::clamp<std::int64_t>(length / kBytesPerNeedle, 1, kMostInHay);
    const int count = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
    const std::vector<Needle> needles = draw_needles(count, digits, random);
    const auto num_asked = 1 + random.below(needles.size());
    std::string questions;
    for (std::size_t i = 0; i < num_asked; ++i)
        questions += answered(needles[needles.size() - 1 - i]);
    std::int64_t room = length - std::ssize(questions);
    std::vector<std::string> sentences;
    for (const Needle& needle : needles)
        room -= std::ssize(needle_sentence(needle));
    auto hay = static_cast<std::int64_t>(random.below(kHay.size()));
    while ((room -= std::ssize(haystack_sentence(hay))) >= 0)
        sentences.emplace_back(haystack_sentence(hay++));
    for (const Needle& needle : needles) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(sentences.size() + 1));
        sentences.insert(sentences.begin() + at, needle_sentence(needle));
    }
    std::string text;
    for (const std::string& sentence : sentences)
        text += sentence;
    return text + questions;
}

}  // namespace

std::vector<Needle> draw_needles(int count, int digits, Rng& random) {
    RM_CHECK(count >= 1 && count <= kMostNeedles && digits >= 1, "{} needles of {} digits", count,
             digits);
    std::array<std::string_view, kMostNeedles> cities = kCities;
    std::vector<Needle> needles;
    for (std::size_t i = 0; i < usize(count); ++i) {
        std::swap(cities[i], cities[i + random.below(cities.size() - i)]);
        needles.push_back({cities[i], draw_number(digits, random)});
    }
    return needles;
}

std::string needle_sentence(const Needle& needle) {
    return "The magic number of " + std::string(needle.city) + " is " + needle.number + ". ";
}

std::string needle_question(std::string_view city) {
    const std::string name(city);
    return "What is the magic number of " + name + "? The magic number of " + name + " is";
}

std::string needle_answer(const Needle& needle) {
    return " " + needle.number;
}

std::string_view haystack_sentence(std::int64_t i) {
    return kHay[usize(i) % kHay.size()];
}

void write_needle_documents(const NeedleDocuments& spec,
                            const std::function<void(std::string_view)>& take) {
    RM_CHECK(spec.from > 0 && spec.from <= spec.to, "documents of {} to {} bytes", spec.from,
             spec.to);
    Rng random(spec.seed);
    for (std::int64_t written = 0; written < spec.total;) {
        const auto range = static_cast<std::uint64_t>(spec.to - spec.from + 1);
        const std::int64_t length = spec.from + static_cast<std::int64_t>(random.below(range));
        const std::string text = random.below(2) == 0 ? dense_document(length, spec.digits, random)
                                                      : hay_document(length, spec.digits, random);
        written += std::max<std::int64_t>(1, std::ssize(text));
        if (!text.empty()) take(text);
    }
}

}  // namespace rm
