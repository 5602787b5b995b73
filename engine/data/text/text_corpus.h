#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/data/file/content_hash.h"
#include "engine/data/text/text_source.h"

namespace rm {

std::string lower_extension(const std::filesystem::path& path);  // .txt of a/B.TXT

// One text file. `path` is relative to the corpus, with '/' between its parts.
struct Document {
    std::string path;
    std::int64_t bytes = 0;  // at least 1
};

// Files that a scan passed over, by reason.
struct SkippedFiles {
    std::int64_t hidden = 0;     // names that start with a dot; a hidden directory counts once
    std::int64_t extension = 0;  // other than the text extensions
    std::int64_t binary = 0;     // a NUL byte in the first 4 KiB
    std::int64_t empty = 0;
    std::int64_t not_file = 0;  // sockets, devices, broken links
    std::int64_t total() const { return hidden + extension + binary + empty + not_file; }
};
std::string to_string(const SkippedFiles& skipped);

// The text files of a directory (recursive, links followed, each directory once) or one file, in
// the byte order of their relative paths: a document each. Sizes are taken at open; nothing is held
// in memory.
class TextCorpus : public TextSource {
public:
    // Fails with not_found (no such path; no text file, as below an unmounted mount point, listing
    // the wanted and the skipped files), permission_denied (an unreadable file or directory) or
    // invalid_argument (only empty files). A single file may have any extension but no NUL byte.
    static Result<TextCorpus> open(const std::string& path, const ReadWatch& watch = {});

    const std::vector<Document>& documents() const { return documents_; }
    std::int64_t num_bytes() const { return num_bytes_; }
    const SkippedFiles& skipped() const { return skipped_; }
    std::string file_path(std::int64_t document) const;

    const std::string& path() const override { return path_; }
    std::string describe() const override;
    std::int64_t num_documents() const override { return std::ssize(documents_); }
    std::string document_name(std::int64_t document) const override { return at(document).path; }
    std::int64_t stored_bytes(std::int64_t document) const override { return at(document).bytes; }
    std::unique_ptr<TextReader> make_reader() const override;
    // XXH3-128 over path, size and bytes of every document, in order; of a sample where text is
    // long.
    Result<std::string> content_hash(const ReadWatch& watch) const override;

private:
    const Document& at(std::int64_t document) const { return documents_.at(usize(document)); }

    std::string path_;  // as given
    std::string root_;  // what document paths are relative to
    std::vector<Document> documents_;
    std::int64_t num_bytes_ = 0;
    SkippedFiles skipped_;
};

}  // namespace rm
