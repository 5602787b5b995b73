#include "engine/data/text_files.h"

#include "base/units.h"
#include "base/words.h"
#include "engine/data/document_reader.h"

namespace rm {

std::string TextFiles::describe() const {
    const std::string files =
        format("{}, {}", counted(num_documents(), "text file"), Bytes{corpus_.num_bytes()});
    if (corpus_.skipped().total() == 0) return files;
    return format("{}; passed over {}", files, to_string(corpus_.skipped()));
}

std::string TextFiles::document_name(std::int64_t document) const {
    return corpus_.documents().at(static_cast<std::size_t>(document)).path;
}

std::int64_t TextFiles::stored_bytes(std::int64_t document) const {
    return corpus_.documents().at(static_cast<std::size_t>(document)).bytes;
}

std::unique_ptr<TextReader> TextFiles::make_reader() const {
    return std::make_unique<DocumentReader>(corpus_);
}

}  // namespace rm
