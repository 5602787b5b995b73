#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rm::test {

enum class PreTokenizerCut { gpt2, llama3 };  // whose pre-tokenizer

struct TrainerOptions {
    PreTokenizerCut cut = PreTokenizerCut::llama3;
    int num_merges = 1000;
    bool ignore_merges = false;
    bool pairs_as_lists = false;  // true: ["a", "b"]; false: "a b"
    bool begin_of_text = false;   // a template that puts <|begin_of_text|> first
};

// Trains a byte-level vocabulary (256 bytes, then the merges of the most frequent pairs, then
// <|begin_of_text|> and <|end_of_text|>) and gives the text of its tokenizer.json.
std::string train_tokenizer(std::string_view text, const TrainerOptions& options);

}  // namespace rm::test
