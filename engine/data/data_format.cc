#include "engine/data/data_format.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/data/file/file_bytes.h"
#include "engine/data/text/jsonl_text.h"
#include "engine/data/text/text_corpus.h"
#include "engine/data/tokens/mds_tokens.h"
#include "engine/data/tokens/text_tokens.h"
#include "engine/data/tokens/token_files.h"
#include "engine/data/tokens/token_formats.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

// By DataFormat; automatic and text look for no particular files.
constexpr std::array<std::string_view, 6> kLookedFor = {
    "",
    "",
    "files named .jsonl or .ndjson",
    "PREFIX.idx beside PREFIX.bin",
    ".bin files that begin with the number 20240520 or 20240801",
    "index.json beside .mds files"};

bool is_pair(const std::string& prefix) {
    return fs::is_regular_file(prefix + ".idx") && fs::is_regular_file(prefix + ".bin");
}

// The prefix of the Megatron set that the path names: itself, or without .bin or .idx; else empty.
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

// shard.00000.mds, also shard.00000.mds.zstd
bool is_mds_shard(const fs::path& path) {
    return path.extension() == ".mds" || path.stem().extension() == ".mds";
}

bool has_mds_shard(const fs::path& directory) {
    std::error_code failure;
    const fs::directory_iterator entries(directory, failure);
    return !failure && std::any_of(begin(entries), end(entries), [](const fs::directory_entry& at) {
        return is_mds_shard(at.path());
    });
}

bool is_mds_index(const fs::path& path) {
    return path.filename() == kMdsIndexFile && has_mds_shard(path.parent_path());
}

// The regular files below a directory, without hidden ones, by path.
Result<std::vector<fs::path>> files_below(const fs::path& directory, const ReadWatch& watch) {
    std::vector<fs::path> files;
    std::error_code failure;
    fs::recursive_directory_iterator at(directory, failure);
    for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
        RM_RETURN_IF_ERROR(watch.pass());
        const std::string name = at->path().filename().string();
        std::error_code ignored;  // an unreadable entry is no data file
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

// The files that each format would read at a path.
struct Candidates {
    std::array<std::vector<std::string>, kLookedFor.size()> files;  // by format; none of text
    std::size_t others = 0;

    std::vector<std::string>& of(DataFormat format) { return files.at(usize(format)); }
};

void classify(const fs::path& file, Candidates& found) {
    const std::string extension = lower_extension(file);
    if (extension == ".jsonl" || extension == ".ndjson") {
        found.of(DataFormat::jsonl).push_back(file.string());
    } else if (extension == ".idx" && !prefix_of(file).empty()) {
        found.of(DataFormat::megatron).push_back(prefix_of(file));
    } else if (extension == ".bin" && !prefix_of(file).empty()) {
        return;  // comes with its index
    } else if (extension == ".bin" && has_llmc_magic(file)) {
        found.of(DataFormat::llmc).push_back(file.string());
    } else if (is_mds_index(file)) {
        found.of(DataFormat::mds).push_back(file.parent_path().string());
    } else if (is_mds_shard(file) && fs::exists(file.parent_path() / kMdsIndexFile)) {
        return;  // comes with its index
    } else {
        ++found.others;
    }
}

Result<Candidates> look_at(const fs::path& path, const ReadWatch& watch) {
    Candidates found;
    if (const std::string prefix = prefix_of(path); !prefix.empty()) {
        found.of(DataFormat::megatron) = {prefix};
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
    const auto some = [](const std::vector<std::string>& files) { return !files.empty(); };
    const auto begin = found.files.begin(), end = found.files.end();
    if (found.others > 0 || std::count_if(begin, end, some) != 1) return DataFormat::text;
    return static_cast<DataFormat>(std::find_if(begin, end, some) - begin);
}

Result<std::vector<std::string>> files_as(DataFormat format, const std::string& path,
                                          Candidates& found) {
    // A single file may have any name when the format is given.
    const bool alone = format == DataFormat::jsonl && fs::is_regular_file(path);
    if (alone) return std::vector<std::string>{path};
    if (format == DataFormat::text || !found.of(format).empty()) return found.of(format);
    return make_error(ErrorCode::not_found, "{} holds no {} data: looked for {}", path,
                      to_string(format), kLookedFor.at(usize(format)));
}

}  // namespace

Result<FoundData> find_data(const std::string& path, std::string_view format,
                            const ReadWatch& watch) {
    FoundData found{DataFormat::text, path, {}};
    RM_TRY(found.format, parse_word<DataFormat>(format));
    if (found.format == DataFormat::text) return found;
    RM_TRY(Candidates candidates, look_at(path, watch));
    if (found.format == DataFormat::automatic) found.format = guess(candidates);
    RM_TRY(found.files, files_as(found.format, path, candidates));
    return found;
}

Result<std::unique_ptr<TextSource>> open_text(const FoundData& found, const ReadWatch& watch) {
    if (found.format == DataFormat::text) {
        RM_TRY(TextCorpus corpus, TextCorpus::open(found.path, watch));
        return std::unique_ptr<TextSource>(new TextCorpus(std::move(corpus)));
    }
    if (found.format == DataFormat::jsonl) {
        RM_TRY(std::unique_ptr<TextSource> lines, JsonlText::open(found.path, found.files, watch));
        return lines;
    }
    return invalid_argument("{} is {} data, which holds tokens and no text", found.path,
                            to_string(found.format));
}

Result<std::unique_ptr<TokenSource>> open_tokens(const FoundData& found, const Tokenizer& tokenizer,
                                                 std::int64_t vocabulary, const ReadWatch& watch) {
    if (found.format == DataFormat::mds) {
        RM_TRY(std::unique_ptr<TokenSource> sets, MdsTokens::open(found.path, found.files, watch));
        return sets;
    }
    if (found.format == DataFormat::megatron || found.format == DataFormat::llmc) {
        const auto open = found.format == DataFormat::megatron ? TokenFiles::open_megatron
                                                               : TokenFiles::open_llmc;
        RM_TRY(std::unique_ptr<TokenSource> files, open(found.path, found.files, watch));
        return files;
    }
    if (tokenizer.vocabulary() > vocabulary) {
        return invalid_argument(
            "tokenizer {} has ids up to {}; the model's vocabulary is {}: use a model with one of "
            "at least {}",
            tokenizer.name(), tokenizer.vocabulary() - 1, vocabulary, tokenizer.vocabulary());
    }
    RM_TRY(std::unique_ptr<TextSource> text, open_text(found, watch));
    if (tokenizer.name() == ByteTokenizer::kName) {
        RM_TRY(std::unique_ptr<TokenSource> bytes, ByteSource::open(std::move(text), watch));
        return bytes;
    }
    RM_TRY(std::unique_ptr<TokenSource> encoded,
           EncodedSource::open(std::move(text), tokenizer, watch));
    return encoded;
}

}  // namespace rm
