#include <nlohmann/json.hpp>

#include <limits>

#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "engine/data/data_format.h"
#include "engine/data/document_lengths.h"

namespace rm {
namespace {

struct ShowDataOptions : VerbOptions {
    std::string path = add("PATH", path, "Data of a job, as data.path names it", required_text());
    std::string tokenizer = add("--tokenizer", tokenizer,
                                "Of text: bytes, or a tokenizer.json or its directory [bytes]",
                                {.type = "PATH|bytes"}, "bytes");
    std::string format = add("--format", format, "Format of the data [auto]",
                             one_word_of("auto|text|jsonl|megatron|llmc|mds"), "auto");
    OutputFormat output = add_output(output, "table|json|yaml");
};

std::string lengths_json(const TokenSource& source, const DocumentLengths& lengths) {
    nlohmann::ordered_json out = {
        {"path", source.path()},          {"content", source.describe()},
        {"documents", lengths.documents}, {"emptyDocuments", lengths.empty},
        {"tokens", lengths.tokens},       {"longestDocument", lengths.longest}};
    nlohmann::ordered_json& ranges = out["lengths"] = nlohmann::ordered_json::array();
    for (const LengthRange& range : lengths.ranges) {
        ranges.push_back({{"fromTokens", range.from_tokens},
                          {"documents", range.documents},
                          {"tokens", range.tokens}});
    }
    return out.dump();
}

// The last column is what a context of that length needs: tokens with so many of their own
// document.
void print_lengths(const Output& out, const DocumentLengths& lengths) {
    Table table({{"FROM", Align::right},
                 {"DOCUMENTS", Align::right},
                 {"TOKENS", Align::right},
                 {"SHARE", Align::right},
                 {"SHARE OF SO LONG", Align::right}});
    const auto share = [&](std::int64_t tokens) {
        return percent_text(static_cast<double>(tokens) / static_cast<double>(lengths.tokens));
    };
    std::int64_t left = lengths.tokens;
    for (const LengthRange& range : lengths.ranges) {
        table.add({context_text(range.from_tokens), grouped(range.documents), grouped(range.tokens),
                   share(range.tokens), share(left)});
        left -= range.tokens;
    }
    table.print(out);
}

Result<ExitCode> run_show_data(const ShowDataOptions& options, VerbContext& context) {
    RM_TRY(const FoundData found, find_data(options.path, options.format));
    RM_TRY(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(options.tokenizer));
    constexpr std::int64_t kAnyVocabulary = std::numeric_limits<TokenId>::max();
    RM_TRY(const std::unique_ptr<TokenSource> source,
           open_tokens(found, *tokenizer, kAnyVocabulary));
    const DocumentLengths lengths = document_lengths(*source);
    const Output& out = context.console.out;
    if (options.output != OutputFormat::table) {
        print_json(out.stream, lengths_json(*source, lengths), options.output);
        return ExitCode::ok;
    }
    out.stream << format(
        "{}: {}\nthe longest document has {} tokens{}\n", options.path, source->describe(),
        grouped(lengths.longest),
        lengths.empty > 0 ? ", " + counted(lengths.empty, "document") + " none" : std::string());
    print_lengths(out, lengths);
    return ExitCode::ok;
}

}  // namespace

Verb data_show_verb() {
    return verb_of("show", "Show what data holds, and how long its documents are", run_show_data,
                   {{"ringmaster data show books", "text, counted in bytes"},
                    {"ringmaster data show prolong-64K -o json", "a set of MDS, for scripts"}});
}

}  // namespace rm
