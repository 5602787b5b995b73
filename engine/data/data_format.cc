#include "engine/data/data_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "engine/data/byte_source.h"
#include "engine/data/encoded_source.h"
#include "engine/data/file_bytes.h"
#include "engine/data/jsonl_text.h"
#include "engine/data/llmc_header.h"
#include "engine/data/text_files.h"
#include "engine/data/token_files.h"
#include "engine/tokenizer/byte_tokenizer.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<DataFormat, 4> kFormats = {DataFormat::text, DataFormat::jsonl,
                                                DataFormat::megatron, DataFormat::llmc};

std::string lower_extension(const fs::path& path) {
    std::string extension = path.extension().string();
    for (char& c : extension)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return extension;
}

bool is_jsonl(const fs::path& path) {
    const std::string extension = lower_extension(path);
    return extension == ".jsonl" || extension == ".ndjson";
}

std::string with(const std::string& prefix, const char* extension) {
    return prefix + extension;
}

bool is_pair(const std::string& prefix) {
    return fs::is_regular_file(with(prefix, ".idx")) && fs::is_regular_file(with(prefix, ".bin"));
}

// The prefix that a path of a Megatron set means: itself, or without .bin or .idx.
std::string prefix_of(const fs::path& path) {
    if (is_pair(path.string())) return path.string();
    fs::path without = path;
    without.replace_extension();
    const std::string extension = lower_extension(path);
    const bool named = extension == ".bin" || extension == ".idx";
    return named && is_pair(without.string()) ? without.string() : "";
}

bool has_llmc_magic(const fs::path& path) {
    const auto file = FileBytes::open(path.string());
    if (!file || file->size() < LlmcHeader::kBytes) return false;
    std::array<std::byte, 4> head{};
    return file->read(0, head).ok() && is_llmc(head);
}

// The regular files below a directory, hidden ones apart, by path.
Result<std::vector<fs::path>> files_below(const fs::path& directory, const ReadWatch& watch) {
    std::vector<fs::path> files;
    std::error_code failure;
    fs::recursive_directory_iterator at(directory, failure);
    for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
        RM_RETURN_IF_ERROR(watch.pass());
        const std::string name = at->path().filename().string();
        std::error_code ignored;  // what cannot be looked at is no data file
        if (name.starts_with('.')) {
            if (at->is_directory(ignored)) at.disable_recursion_pending();
        } else if (at->is_regular_file(ignored)) {
            files.push_back(at->path());
        }
    }
    if (failure) {
        return make_error(ErrorCode::permission_denied, "cannot read {}: {}", directory.string(),
                          failure.message());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// The files that each format would read at a path: empty where there are none.
struct Candidates {
    std::vector<std::string> jsonl, megatron, llmc;
    std::size_t others = 0;
};

void classify(const fs::path& file, Candidates& found) {
    const std::string extension = lower_extension(file);
    if (is_jsonl(file)) {
        found.jsonl.push_back(file.string());
    } else if (extension == ".idx" && !prefix_of(file).empty()) {
        found.megatron.push_back(prefix_of(file));
    } else if (extension == ".bin" && !prefix_of(file).empty()) {
        return;  // comes with its index
    } else if (extension == ".bin" && has_llmc_magic(file)) {
        found.llmc.push_back(file.string());
    } else {
        ++found.others;
    }
}

Result<Candidates> look_at(const fs::path& path, const ReadWatch& watch) {
    Candidates found;
    if (const std::string prefix = prefix_of(path); !prefix.empty()) {
        found.megatron = {prefix};
        return found;
    }
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status)) {
        return make_error(ErrorCode::not_found, "cannot read {}: {}", path.string(),
                          failure ? failure.message() : "no such file or directory");
    }
    if (!fs::is_directory(status)) {
        classify(path, found);
        return found;
    }
    RM_TRY(const std::vector<fs::path> files, files_below(path, watch));
    for (const fs::path& file : files) {
        RM_RETURN_IF_ERROR(watch.pass());
        classify(file, found);
    }
    return found;
}

DataFormat guess(const Candidates& found) {
    const bool jsonl = !found.jsonl.empty();
    const bool megatron = !found.megatron.empty();
    const bool llmc = !found.llmc.empty();
    if (found.others > 0 || jsonl + megatron + llmc != 1) return DataFormat::text;
    return jsonl ? DataFormat::jsonl : megatron ? DataFormat::megatron : DataFormat::llmc;
}

Result<std::vector<std::string>> files_as(DataFormat format, const std::string& path,
                                          const Candidates& found) {
    const auto some = [&](const std::vector<std::string>& files,
                          std::string_view what) -> Result<std::vector<std::string>> {
        if (!files.empty()) return files;
        return make_error(ErrorCode::not_found, "{} holds no {} data: looked for {}", path,
                          to_string(format), what);
    };
    switch (format) {
        case DataFormat::text:
            return std::vector<std::string>();
        case DataFormat::jsonl:
            // A single file may have any name when the format is given.
            if (fs::is_regular_file(path)) return std::vector<std::string>{path};
            return some(found.jsonl, "files named .jsonl or .ndjson");
        case DataFormat::megatron:
            return some(found.megatron, "PREFIX.idx beside PREFIX.bin");
        case DataFormat::llmc:
            return some(found.llmc, ".bin files that begin with the number 20240520 or 20240801");
    }
    return std::vector<std::string>();
}

Result<DataFormat> parse_format(std::string_view name) {
    for (const DataFormat format : kFormats) {
        if (to_string(format) == name) return format;
    }
    return invalid_argument("format '{}' is not known; auto, text, jsonl, megatron or llmc", name);
}

}  // namespace

std::string_view to_string(DataFormat format) {
    switch (format) {
        case DataFormat::text:
            return "text";
        case DataFormat::jsonl:
            return "jsonl";
        case DataFormat::megatron:
            return "megatron";
        case DataFormat::llmc:
            return "llmc";
    }
    return "?";
}

Result<FoundData> find_data(const std::string& path, std::string_view format,
                            const ReadWatch& watch) {
    FoundData found{DataFormat::text, path, {}};
    if (format == "text") return found;
    if (format != "auto") {
        RM_TRY(found.format, parse_format(format));
    }
    RM_TRY(const Candidates candidates, look_at(path, watch));
    if (format == "auto") found.format = guess(candidates);
    RM_TRY(found.files, files_as(found.format, path, candidates));
    return found;
}

Result<std::unique_ptr<TextSource>> open_text(const FoundData& found, const ReadWatch& watch) {
    if (found.format == DataFormat::text) {
        RM_TRY(TextCorpus corpus, TextCorpus::open(found.path, watch));
        return std::unique_ptr<TextSource>(new TextFiles(std::move(corpus)));
    }
    if (found.format == DataFormat::jsonl) {
        RM_TRY(std::unique_ptr<JsonlText> lines, JsonlText::open(found.path, found.files, watch));
        return std::unique_ptr<TextSource>(std::move(lines));
    }
    return invalid_argument("{} is {} data, which holds tokens and no text", found.path,
                            to_string(found.format));
}

Result<std::unique_ptr<TokenSource>> open_tokens(const FoundData& found, const Tokenizer& tokenizer,
                                                 std::int64_t vocabulary, const ReadWatch& watch) {
    if (found.format == DataFormat::megatron || found.format == DataFormat::llmc) {
        auto files = found.format == DataFormat::megatron
                         ? TokenFiles::open_megatron(found.path, found.files, watch)
                         : TokenFiles::open_llmc(found.path, found.files, watch);
        if (!files) return files.error();
        return std::unique_ptr<TokenSource>(std::move(*files));
    }
    if (tokenizer.vocabulary() > vocabulary) {
        return invalid_argument(
            "tokenizer {} has ids up to {}; the model's vocabulary is {}: use a model with one of "
            "at "
            "least {}",
            tokenizer.name(), tokenizer.vocabulary() - 1, vocabulary, tokenizer.vocabulary());
    }
    RM_TRY(std::unique_ptr<TextSource> text, open_text(found, watch));
    if (tokenizer.name() == ByteTokenizer::kName) {
        RM_TRY(std::unique_ptr<ByteSource> bytes, ByteSource::open(std::move(text), watch));
        return std::unique_ptr<TokenSource>(std::move(bytes));
    }
    RM_TRY(std::unique_ptr<EncodedSource> encoded,
           EncodedSource::open(std::move(text), tokenizer, watch));
    return std::unique_ptr<TokenSource>(std::move(encoded));
}

}  // namespace rm
