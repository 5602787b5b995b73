#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <span>

#include "base/result.h"
#include "engine/data/text_corpus.h"

namespace rm {

// Bytes of the documents of a corpus (borrowed), read when asked for. Plain reads and not a
// mapping: a file that shrinks while it is used is an error here and would be SIGBUS there. The
// last file stays open. Not thread safe.
class DocumentReader {
public:
    explicit DocumentReader(const TextCorpus& corpus) : corpus_(&corpus) {}

    // Bytes [offset, offset + out.size()) of the document; failed_precondition if the file has
    // become shorter than it was when the corpus was opened.
    Status read(std::int64_t document, std::int64_t offset, std::span<std::uint8_t> out);

    // The whole document, in blocks.
    Status visit(std::int64_t document,
                 const std::function<void(std::span<const std::uint8_t>)>& block);

private:
    const TextCorpus* corpus_;
    std::int64_t open_document_ = -1;
    std::ifstream file_;
};

}  // namespace rm
