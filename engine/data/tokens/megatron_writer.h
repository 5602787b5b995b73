#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "engine/data/tokens/token_formats.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Writes PREFIX.bin and PREFIX.idx. Both have other names until finish() has synced them to disk;
// it renames the index last, so an index always has all of its data. The destructor removes
// unfinished files.
class MegatronWriter {
public:
    // Chooses as Megatron does: uint16 below 65,500 ids, else int32. Never overwrites:
    // already_exists where either file is there; permission_denied or not_found where it cannot
    // make them.
    static Result<MegatronWriter> create(const std::string& prefix, std::int64_t vocabulary);
    MegatronWriter(MegatronWriter&&) noexcept = default;
    MegatronWriter& operator=(MegatronWriter&&) = delete;
    ~MegatronWriter();

    TokenDType dtype() const { return dtype_; }
    // `tokens` of one document, below the vocabulary.
    Status add_document(std::span<const TokenId> tokens);
    Status finish();

private:
    MegatronWriter(std::string prefix, TokenDType dtype)
        : prefix_(std::move(prefix)), dtype_(dtype) {}
    std::string unfinished(std::string_view extension) const;
    Status flush();

    std::string prefix_;
    TokenDType dtype_;
    UniqueFd fd_;  // empty: moved from or finished
    std::vector<std::byte> buffer_;
    std::vector<std::int64_t> document_tokens_;
};

}  // namespace rm
