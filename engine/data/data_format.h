#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "engine/data/text/text_source.h"
#include "engine/data/tokens/token_source.h"

namespace rm {

enum class DataFormat { automatic, text, jsonl, megatron, llmc, mds };
constexpr auto vocabulary_of(DataFormat) {
    return vocabulary<DataFormat>("format", {{DataFormat::automatic, "auto"},
                                             {DataFormat::text, "text"},
                                             {DataFormat::jsonl, "jsonl"},
                                             {DataFormat::megatron, "megatron"},
                                             {DataFormat::llmc, "llmc"},
                                             {DataFormat::mds, "mds"}});
}

// The place and format of data, found by names and first bytes.
struct FoundData {
    DataFormat format = DataFormat::text;  // never automatic
    std::string path;                      // as given
    // In order; prefixes for megatron, directories for mds, none for text.
    std::vector<std::string> files;
};

// `format` is a word of DataFormat. Auto: PREFIX.idx beside PREFIX.bin (the path is any of the
// three) is megatron, a .bin file that begins with llm.c's magic is llmc, a file named .jsonl or
// .ndjson is jsonl, an index.json beside .mds files is mds, any other file is text; a directory has
// the format of all its data files, and text where these differ or have no other format. not_found
// names the path, or the files that a named format looked for.
Result<FoundData> find_data(const std::string& path, std::string_view format,
                            const ReadWatch& watch = {});

// For text and jsonl; invalid_argument for the others, which hold tokens.
Result<std::unique_ptr<TextSource>> open_text(const FoundData& found, const ReadWatch& watch = {});

// Uses the tokenizer, which must fit the model's vocabulary, only for text; ids in files are
// checked when they are read.
Result<std::unique_ptr<TokenSource>> open_tokens(const FoundData& found, const Tokenizer& tokenizer,
                                                 std::int64_t vocabulary,
                                                 const ReadWatch& watch = {});

}  // namespace rm
