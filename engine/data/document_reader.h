#pragma once

#include <cstdint>
#include <fstream>
#include <span>

#include "base/result.h"
#include "engine/data/text_corpus.h"
#include "engine/data/text_source.h"

namespace rm {

// Bytes of the files of a corpus (borrowed), read when asked for. Plain reads and not a mapping: a
// file that shrinks while it is used is an error here and would be SIGBUS there. The last file
// stays open.
class DocumentReader : public TextReader {
public:
    explicit DocumentReader(const TextCorpus& corpus) : corpus_(&corpus) {}

    Result<std::int64_t> num_bytes(std::int64_t document) override;
    Status read(std::int64_t document, std::int64_t offset, std::span<std::uint8_t> out) override;

private:
    const TextCorpus* corpus_;
    std::int64_t open_document_ = -1;
    std::ifstream file_;
};

}  // namespace rm
