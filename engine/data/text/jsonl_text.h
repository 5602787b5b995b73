#pragma once

#include <string>
#include <vector>

#include "engine/data/file/file_bytes.h"
#include "engine/data/text/text_source.h"

namespace rm {

// JSON Lines files with a document per line: an object whose "text" is the document; other keys and
// lines of white space are ignored. Any other line is an error that names file and line, when it is
// read.
class JsonlText : public TextSource {
public:
    // `files`: paths in order. Finds the lines without parsing them. invalid_argument where there
    // is none.
    static Result<std::unique_ptr<JsonlText>> open(const std::string& path,
                                                   const std::vector<std::string>& files,
                                                   const ReadWatch& watch = {});

    const std::string& path() const override { return path_; }
    std::string describe() const override;
    std::int64_t num_documents() const override { return std::ssize(lines_); }
    std::string document_name(std::int64_t document) const override;
    std::int64_t stored_bytes(std::int64_t document) const override { return line(document).bytes; }
    std::unique_ptr<TextReader> make_reader() const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override;

    // The text of one line.
    Result<std::string> text_of(std::int64_t document) const;

private:
    struct Line {
        std::int64_t file;    // index
        std::int64_t number;  // from 1
        std::int64_t offset;
        std::int64_t bytes;
    };
    explicit JsonlText(std::string path) : path_(std::move(path)) {}
    Status find_lines(std::int64_t file, const ReadWatch& watch);
    const Line& line(std::int64_t document) const { return lines_.at(usize(document)); }

    std::string path_;
    std::vector<FileBytes> files_;
    std::vector<Line> lines_;
};

}  // namespace rm
