#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/fault.h"
#include "base/result.h"
#include "engine/data/file/content_hash.h"

namespace rm {

// Bytes of the documents of a TextSource, which it borrows. Not thread safe.
class TextReader {
public:
    virtual ~TextReader() = default;
    // The size of the document's text.
    virtual Result<std::int64_t> num_bytes(std::int64_t document) = 0;
    // Bytes [offset, offset + out.size()); failed_precondition if a file has become shorter than it
    // was when it was opened.
    virtual Status read(std::int64_t document, std::int64_t offset,
                        std::span<std::uint8_t> out) = 0;

    Result<std::string> load(std::int64_t document);
    // The whole document, in blocks, until one of them is refused.
    Status visit(std::int64_t document,
                 const std::function<Status(std::span<const std::uint8_t>)>& block);
};

// Documents of text that nobody has tokenised. Immutable, shared between threads.
class TextSource {
public:
    virtual ~TextSource() = default;
    virtual const std::string& path() const = 0;  // as given
    virtual std::string describe() const = 0;     // "12 text files, 1.5 MiB"
    virtual std::int64_t num_documents() const = 0;
    virtual std::string document_name(std::int64_t document) const = 0;  // "a/b.txt", "c.jsonl:17"
    // The bytes it takes in its file: the text itself, or about that.
    virtual std::int64_t stored_bytes(std::int64_t document) const = 0;
    virtual std::unique_ptr<TextReader> make_reader() const = 0;
    // Covers all that decides the documents, as engine/data/file/content_hash.h has it. Any thread.
    virtual Result<std::string> content_hash(const ReadWatch& watch) const = 0;

    std::int64_t total_stored_bytes() const;
};

// The text's own entropies, nats per byte, from exact counts: what a model that knows only byte
// frequencies, or only the previous byte, can reach on it. Pairs do not cross documents.
struct TextEntropies {
    double unigram = 0;  // H(x)
    double bigram = 0;   // H(x_t | x_{t-1})
};

// Counts all documents of the sources together; reads everything once, or until it is given up.
Result<TextEntropies> text_entropies(std::span<const TextSource* const> sources,
                                     const Activity& activity);

}  // namespace rm
