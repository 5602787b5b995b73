#include "engine/data/text/text_corpus.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "base/os/unique_fd.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "engine/data/file/hash.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kTextExtensions = {
    ".txt", ".md", ".rst", ".html", ".json", ".jsonl", ".py", ".c", ".h", ".cc"};
constexpr std::size_t kProbeBytes = 4096;

Error cannot_read(const fs::path& path, const std::error_code& reason) {
    const auto code = reason == std::errc::no_such_file_or_directory ? ErrorCode::not_found
                                                                     : ErrorCode::permission_denied;
    return make_error(code, "cannot read {}: {}", path.string(), reason.message());
}

bool has_text_extension(const fs::path& path) {
    const std::string extension = lower_extension(path);
    return extension.empty() || std::find(kTextExtensions.begin(), kTextExtensions.end(),
                                          extension) != kTextExtensions.end();
}

Result<bool> has_nul(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return cannot_read(path, {errno, std::generic_category()});
    std::array<char, kProbeBytes> head{};
    file.read(head.data(), head.size());
    return std::find(head.begin(), head.begin() + file.gcount(), '\0') !=
           head.begin() + file.gcount();
}

// Walks over a directory tree once.
class Scan {
public:
    explicit Scan(const ReadWatch& watch) : watch_(watch) {}
    Status directory(const fs::path& path, const std::string& prefix);

    std::vector<Document> documents;
    SkippedFiles skipped;

private:
    Status entry(const fs::path& path, const std::string& prefix);
    Status file(const fs::path& path, const std::string& relative);

    const ReadWatch& watch_;
    std::set<fs::path> seen_;  // real paths, so that a link to a parent ends the walk
};

Status Scan::directory(const fs::path& path, const std::string& prefix) {
    std::error_code failure;
    const fs::path real = fs::canonical(path, failure);
    if (failure) return cannot_read(path, failure);
    if (!seen_.insert(real).second) return {};

    std::vector<fs::path> entries;
    fs::directory_iterator at(path, failure);
    for (; !failure && at != fs::directory_iterator(); at.increment(failure)) {
        entries.push_back(at->path());
    }
    if (failure) return cannot_read(path, failure);
    std::sort(entries.begin(), entries.end());
    for (const fs::path& child : entries)
        RM_RETURN_IF_ERROR(entry(child, prefix));
    return {};
}

Status Scan::entry(const fs::path& path, const std::string& prefix) {
    const std::string name = path.filename().string();
    if (name.starts_with('.')) {
        ++skipped.hidden;
        return {};
    }
    RM_RETURN_IF_ERROR(watch_.pass());
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (fs::is_directory(status)) return directory(path, prefix + name + "/");
    if (fs::is_regular_file(status)) return file(path, prefix + name);
    ++skipped.not_file;
    return {};
}

Status Scan::file(const fs::path& path, const std::string& relative) {
    if (!has_text_extension(path)) {
        ++skipped.extension;
        return {};
    }
    std::error_code failure;
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, failure));
    if (failure) return cannot_read(path, failure);
    RM_TRY(const bool binary, has_nul(path));
    if (bytes == 0) {
        ++skipped.empty;
    } else if (binary) {
        ++skipped.binary;
    } else {
        documents.push_back({relative, bytes});
    }
    return {};
}

Status check_not_empty(const Scan& scan, const std::string& path) {
    if (!scan.documents.empty()) return {};
    if (scan.skipped.empty > 0 && scan.skipped.empty == scan.skipped.total()) {
        return invalid_argument("{} holds no text: {} {} there, and empty", path,
                                counted(scan.skipped.empty, "text file"),
                                scan.skipped.empty == 1 ? "is" : "are");
    }
    return make_error(ErrorCode::not_found,
                      "no text file in {}: looked for {} and files without extension; skipped {}",
                      path, join(kTextExtensions, " "), to_string(scan.skipped));
}

Result<Document> single_file(const fs::path& path) {
    std::error_code failure;
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, failure));
    if (failure) return cannot_read(path, failure);
    RM_TRY(const bool binary, has_nul(path));
    if (bytes == 0) return invalid_argument("{} holds no text: it is empty", path.string());
    if (binary) {
        return invalid_argument("{} is not text: it has a NUL byte in its first 4 KiB",
                                path.string());
    }
    return Document{path.filename().string(), bytes};
}

// Reads the bytes of files on demand. Not mapped: where a file shrinks during use, a mapping gives
// SIGBUS and a read gives an error. Keeps the last file open.
class DocumentReader : public TextReader {
public:
    explicit DocumentReader(const TextCorpus& corpus) : corpus_(corpus) {}

    Result<std::int64_t> num_bytes(std::int64_t document) override {
        return corpus_.stored_bytes(document);
    }
    Status read(std::int64_t document, std::int64_t offset, std::span<std::uint8_t> out) override {
        const std::string path = corpus_.file_path(document);
        if (open_document_ != document) {
            open_document_ = -1;
            file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!file_) {
                return make_error(ErrorCode::failed_precondition, "cannot read {}: {}", path,
                                  std::generic_category().message(errno));
            }
            open_document_ = document;
        }
        if (read_at(file_.get(), offset, std::as_writable_bytes(out)) == std::ssize(out)) return {};
        open_document_ = -1;
        return make_error(ErrorCode::failed_precondition,
                          "{} ends before byte {}, but had {} bytes when the data was opened: data "
                          "must not change during a run",
                          path, offset + std::ssize(out), corpus_.stored_bytes(document));
    }

private:
    const TextCorpus& corpus_;
    std::int64_t open_document_ = -1;
    UniqueFd file_;
};

std::vector<HashedFile> files_of(const TextCorpus& corpus, DocumentReader& reader) {
    std::vector<HashedFile> files;
    for (const Document& document : corpus.documents()) {
        const std::int64_t i = std::ssize(files);
        files.push_back({document.path, document.bytes,
                         [&reader, i](std::int64_t offset, std::span<std::byte> out) {
                             auto* bytes = reinterpret_cast<std::uint8_t*>(out.data());
                             return reader.read(i, offset, {bytes, out.size()});
                         }});
    }
    return files;
}

}  // namespace

std::string lower_extension(const fs::path& path) {
    std::string extension = path.extension().string();
    for (char& c : extension)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return extension;
}

std::string to_string(const SkippedFiles& skipped) {
    return format("{} ({} of other extensions, {} hidden, {} binary, {} empty, {} not files)",
                  skipped.total(), skipped.extension, skipped.hidden, skipped.binary, skipped.empty,
                  skipped.not_file);
}

Result<TextCorpus> TextCorpus::open(const std::string& path, const ReadWatch& watch) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status)) return cannot_read(path, failure);

    TextCorpus corpus;
    corpus.path_ = path;
    if (fs::is_directory(status)) {
        Scan scan(watch);
        RM_RETURN_IF_ERROR(scan.directory(path, ""));
        RM_RETURN_IF_ERROR(check_not_empty(scan, path));
        corpus.root_ = path;
        corpus.documents_ = std::move(scan.documents);
        corpus.skipped_ = scan.skipped;
    } else if (fs::is_regular_file(status)) {
        RM_TRY(Document document, single_file(path));
        corpus.root_ = fs::path(path).parent_path().string();
        corpus.documents_.push_back(std::move(document));
    } else {
        return invalid_argument("{} is neither a directory nor a file", path);
    }
    std::sort(corpus.documents_.begin(), corpus.documents_.end(),
              [](const Document& a, const Document& b) { return a.path < b.path; });
    for (const Document& document : corpus.documents_)
        corpus.num_bytes_ += document.bytes;
    return corpus;
}

std::string TextCorpus::file_path(std::int64_t document) const {
    return (fs::path(root_) / at(document).path).string();
}

std::string TextCorpus::describe() const {
    const std::string files =
        format("{}, {}", counted(num_documents(), "text file"), Bytes{num_bytes_});
    if (skipped_.total() == 0) return files;
    return format("{}; passed over {}", files, to_string(skipped_));
}

std::unique_ptr<TextReader> TextCorpus::make_reader() const {
    return std::make_unique<DocumentReader>(*this);
}

Result<std::string> TextCorpus::content_hash(const ReadWatch& watch) const {
    DocumentReader reader(*this);
    if (num_bytes_ > kHashedWhole) return sampled_hash(files_of(*this, reader), watch);
    Xxh3 hash;
    for (std::int64_t i = 0; i < num_documents(); ++i) {
        const Document& document = at(i);
        // Lengths precede bytes, so that no two different corpora feed the same stream.
        hash.update(static_cast<std::int64_t>(document.path.size()));
        hash.update(document.path);
        hash.update(document.bytes);
        RM_RETURN_IF_ERROR(watch.pass(document.bytes));
        RM_RETURN_IF_ERROR(reader.visit(i, [&](std::span<const std::uint8_t> block) -> Status {
            hash.update(std::as_bytes(block));
            return {};
        }));
    }
    return hash.hex();
}

}  // namespace rm
