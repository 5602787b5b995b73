#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/data/file/content_hash.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Reads the tokens of a TokenSource, which it borrows. Not thread safe.
class TokenReader {
public:
    virtual ~TokenReader() = default;
    // Reads tokens [offset, offset + out.size()) of the document, without checking ids; data_loss
    // when one does not fit a TokenId, failed_precondition when a file has changed.
    virtual Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) = 0;
};

// Documents to train on, as sequences of tokens. Immutable, shared between threads.
class TokenSource {
public:
    virtual ~TokenSource() = default;
    virtual const std::string& path() const = 0;  // as given
    virtual std::string describe() const = 0;     // what was found there
    virtual std::int64_t num_documents() const = 0;
    virtual std::int64_t num_tokens(std::int64_t document) const = 0;  // may be 0
    virtual std::string document_name(std::int64_t document) const = 0;
    // The token to append to each document, or to each part used as one; nothing where the data has
    // its own ends.
    virtual std::optional<TokenId> end_of_document() const = 0;
    virtual std::unique_ptr<TokenReader> make_reader() const = 0;
    // Covers all that determines the tokens, by the rules of content_hash.h. Any thread.
    virtual Result<std::string> content_hash(const ReadWatch& watch) const = 0;
    // Looks for ids outside a vocabulary of this size, at little cost: in all of a small set, in
    // pieces all over a large one. Sources that make their ids need no check.
    virtual Status check_ids(std::int64_t /*vocabulary*/, const ReadWatch& /*watch*/) const {
        return {};
    }

    std::int64_t total_tokens() const {
        std::int64_t tokens = 0;
        for (std::int64_t i = 0; i < num_documents(); ++i)
            tokens += num_tokens(i);
        return tokens;
    }
};

}  // namespace rm
