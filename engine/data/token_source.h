#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Tokens of the documents of a TokenSource, which it borrows. Not thread safe.
class TokenReader {
public:
    virtual ~TokenReader() = default;
    // Tokens [offset, offset + out.size()) of the document. An id is whatever the data says;
    // data_loss when it does not fit a TokenId, failed_precondition when a file has changed.
    virtual Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) = 0;
};

// Documents as sequences of tokens: what is trained on. Immutable, shared between threads.
class TokenSource {
public:
    virtual ~TokenSource() = default;
    virtual const std::string& path() const = 0;  // as given
    virtual std::string describe() const = 0;     // what was found there
    virtual std::int64_t num_documents() const = 0;
    virtual std::int64_t num_tokens(std::int64_t document) const = 0;  // may be 0
    virtual std::string document_name(std::int64_t document) const = 0;
    // The token that belongs behind each document, or each part used as one, and is not among its
    // tokens; nothing where the data has its own.
    virtual std::optional<TokenId> end_of_document() const = 0;
    virtual std::unique_ptr<TokenReader> make_reader() const = 0;
    // XXH3-128 of everything that decides the tokens. Reads everything.
    virtual Result<std::string> content_hash() const = 0;

    std::int64_t total_tokens() const {
        std::int64_t tokens = 0;
        for (std::int64_t i = 0; i < num_documents(); ++i)
            tokens += num_tokens(i);
        return tokens;
    }
};

}  // namespace rm
