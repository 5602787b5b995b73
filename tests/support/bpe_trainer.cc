#include "tests/support/bpe_trainer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "engine/tokenizer/tokenizer_json.h"
#include "engine/tokenizer/utf8.h"

namespace rm::test {
namespace {

using nlohmann::json;

constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

json byte_level(bool use_regex) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", use_regex}};
}

json pre_tokenizer_of(PreTokenizerCut cut) {
    if (cut == PreTokenizerCut::gpt2) return byte_level(true);
    const json split = {{"type", "Split"},
                        {"pattern", {{"Regex", kLlama3Pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level(false)}}};
}

struct Word {
    std::vector<int> tokens;
    std::int64_t count = 0;
};

using Pair = std::pair<int, int>;

// Keeps pairs with the words that hold them; merges the most frequent one until there are enough.
class Training {
public:
    Training(std::string_view text, PreTokenizerCut cut);
    void merge_most_frequent();
    std::vector<std::string> spellings;  // by id
    std::vector<Pair> merges;

private:
    struct Candidate {
        std::int64_t count;
        Pair pair;
        // Equal counts: the smaller pair first, so that the vocabulary is the same everywhere.
        bool operator<(const Candidate& other) const {
            return std::tie(count, other.pair) < std::tie(other.count, pair);
        }
    };
    void change(const Word& word, int sign, int word_index);
    void push(Pair pair) { candidates_.push({counts_[pair], pair}); }

    std::vector<Word> words_;
    std::map<Pair, std::int64_t> counts_;
    std::map<Pair, std::set<int>> where_;
    std::priority_queue<Candidate> candidates_;
};

Training::Training(std::string_view text, PreTokenizerCut cut) {
    for (int byte = 0; byte < 256; ++byte) {
        spellings.push_back(spell_bytes(std::string(1, static_cast<char>(byte))));
    }
    std::unordered_map<std::string, std::int64_t> frequencies;
    const PreTokenizer pre_tokenizer = parse_pre_tokenizer(pre_tokenizer_of(cut)).value();
    PieceCutter cutter(pre_tokenizer);
    RM_CHECK(cutter.cut(text, [&](std::string_view piece) { ++frequencies[std::string(piece)]; }),
             "cannot cut the text");
    for (const auto& [piece, count] : std::map(frequencies.begin(), frequencies.end())) {
        Word& word = words_.emplace_back(Word{{}, count});
        for (const char byte : piece)
            word.tokens.push_back(static_cast<unsigned char>(byte));
        change(word, 1, static_cast<int>(words_.size()) - 1);
    }
    for (const auto& [pair, count] : counts_)
        candidates_.push({count, pair});
}

void Training::change(const Word& word, int sign, int word_index) {
    for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
        const Pair pair{word.tokens[i], word.tokens[i + 1]};
        counts_[pair] += sign * word.count;
        if (sign > 0) where_[pair].insert(word_index);
    }
}

void join(Word& word, Pair pair, int result) {
    std::vector<int> joined;
    for (std::size_t i = 0; i < word.tokens.size(); ++i) {
        const bool here = i + 1 < word.tokens.size() && word.tokens[i] == pair.first &&
                          word.tokens[i + 1] == pair.second;
        joined.push_back(here ? result : word.tokens[i]);
        if (here) ++i;
    }
    word.tokens = std::move(joined);
}

void Training::merge_most_frequent() {
    for (;;) {
        RM_CHECK(!candidates_.empty(), "the text has pairs for {} merges only", merges.size());
        const Candidate best = candidates_.top();
        candidates_.pop();
        if (best.count != counts_[best.pair] || best.count <= 0) continue;
        const int result = static_cast<int>(spellings.size());
        spellings.push_back(spellings[static_cast<std::size_t>(best.pair.first)] +
                            spellings[static_cast<std::size_t>(best.pair.second)]);
        merges.push_back(best.pair);
        std::set<Pair> touched;
        for (const int index : std::set<int>(where_[best.pair])) {
            Word& word = words_[static_cast<std::size_t>(index)];
            for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
                touched.insert({word.tokens[i], word.tokens[i + 1]});
            change(word, -1, index);
            join(word, best.pair, result);
            change(word, 1, index);
            for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
                touched.insert({word.tokens[i], word.tokens[i + 1]});
        }
        for (const Pair& pair : touched)
            push(pair);
        return;
    }
}

json added_token(int id, const char* content) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

json template_of(int begin_of_text) {
    const json token = {{"SpecialToken", {{"id", "<|begin_of_text|>"}, {"type_id", 0}}}};
    const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const json known = {
        {"id", "<|begin_of_text|>"}, {"ids", {begin_of_text}}, {"tokens", {"<|begin_of_text|>"}}};
    return {{"type", "TemplateProcessing"},
            {"single", {token, text}},
            {"pair", {token, text}},
            {"special_tokens", {{"<|begin_of_text|>", known}}}};
}

}  // namespace

std::string train_tokenizer(std::string_view text, const TrainerOptions& options) {
    Training training(text, options.cut);
    while (static_cast<int>(training.merges.size()) < options.num_merges)
        training.merge_most_frequent();
    json vocab = json::object();
    for (std::size_t id = 0; id < training.spellings.size(); ++id)
        vocab[training.spellings[id]] = id;
    json merges = json::array();
    for (const auto& [left, right] : training.merges) {
        const std::string& a = training.spellings[static_cast<std::size_t>(left)];
        const std::string& b = training.spellings[static_cast<std::size_t>(right)];
        merges.push_back(options.pairs_as_lists ? json{a, b} : json(a + " " + b));
    }
    const int begin = static_cast<int>(training.spellings.size());
    const json model = {{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", nullptr},
                        {"end_of_word_suffix", nullptr},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"ignore_merges", options.ignore_merges},
                        {"vocab", vocab},
                        {"merges", merges}};
    const json root = {
        {"version", "1.0"},
        {"truncation", nullptr},
        {"padding", nullptr},
        {"added_tokens",
         {added_token(begin, "<|begin_of_text|>"), added_token(begin + 1, "<|end_of_text|>")}},
        {"normalizer", nullptr},
        {"pre_tokenizer", pre_tokenizer_of(options.cut)},
        {"post_processor", options.begin_of_text ? template_of(begin) : byte_level(true)},
        {"decoder", byte_level(true)},
        {"model", model}};
    return root.dump();
}

}  // namespace rm::test
