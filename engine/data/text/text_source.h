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

// Reads the documents of a TextSource, which it borrows. Not thread safe.
class TextReader {
public:
    virtual ~TextReader() = default;
    // The size of the document's text.
    virtual Result<std::int64_t> num_bytes(std::int64_t document) = 0;
    // Reads bytes [offset, offset + out.size()); failed_precondition if a file has shrunk since it
    // was opened.
    virtual Status read(std::int64_t document, std::int64_t offset,
                        std::span<std::uint8_t> out) = 0;

    Result<std::string> load(std::int64_t document);
    // Passes the whole document in blocks, until `block` fails.
    Status visit(std::int64_t document,
                 const std::function<Status(std::span<const std::uint8_t>)>& block);
};

// Documents of text without tokens. Immutable, shared between threads.
class TextSource {
public:
    virtual ~TextSource() = default;
    virtual const std::string& path() const = 0;  // as given
    virtual std::string describe() const = 0;     // "12 text files, 1.5 MiB"
    virtual std::int64_t num_documents() const = 0;
    virtual std::string document_name(std::int64_t document) const = 0;  // "a/b.txt", "c.jsonl:17"
    // The document's bytes in its file: those of the text, or roughly so.
    virtual std::int64_t stored_bytes(std::int64_t document) const = 0;
    virtual std::unique_ptr<TextReader> make_reader() const = 0;
    // Covers all that determines the documents, by the rules of content_hash.h. Any thread.
    virtual Result<std::string> content_hash(const ReadWatch& watch) const = 0;

    std::int64_t total_stored_bytes() const;
};

// The text's own entropies, nats per byte, from exact counts: the least loss of a model that knows
// only byte frequencies, or only the previous byte. Pairs do not cross documents.
struct TextEntropies {
    double unigram = 0;  // H(x)
    double bigram = 0;   // H(x_t | x_{t-1})
};

// Counts all documents of the sources together; reads everything once, or until it is cancelled.
Result<TextEntropies> text_entropies(std::span<const TextSource* const> sources,
                                     const Activity& activity);

}  // namespace rm
