#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/data/text/text_source.h"
#include "engine/data/tokens/token_source.h"

namespace rm {

enum class DataFormat { text, jsonl, megatron, llmc };
std::string_view to_string(DataFormat format);

// Where data lies and how, found by looking at names and first bytes.
struct FoundData {
    DataFormat format = DataFormat::text;
    std::string path;                // as given
    std::vector<std::string> files;  // in order; prefixes for megatron, none for text
};

// `format` is one of the names or "auto". Auto: PREFIX.idx beside PREFIX.bin (the path is any of
// the three) is megatron, a .bin file that begins with llm.c's magic is llmc, a file named .jsonl
// or .ndjson is jsonl, any other file is text; a directory is what all its data files are, and text
// where they differ or it has none of those kinds. not_found names the path, or what a named format
// looked for.
Result<FoundData> find_data(const std::string& path, std::string_view format,
                            const ReadWatch& watch = {});

// For text and jsonl; invalid_argument for the others, which hold tokens.
Result<std::unique_ptr<TextSource>> open_text(const FoundData& found, const ReadWatch& watch = {});

// The tokenizer is used, and must fit the model's vocabulary, where there is text; ids in files are
// looked at when they are read.
Result<std::unique_ptr<TokenSource>> open_tokens(const FoundData& found, const Tokenizer& tokenizer,
                                                 std::int64_t vocabulary,
                                                 const ReadWatch& watch = {});

}  // namespace rm
