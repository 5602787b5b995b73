#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/file/file_bytes.h"
#include "engine/data/tokens/mds_format.h"
#include "engine/data/tokens/stored_tokens.h"

namespace rm {

// Data sets of MosaicML's streaming library: tokens in the column `input_ids`. Where there is a
// column `indices`, it lists the documents of each sample as pairs of a first token and an end
// (ProLong's packed sets); else a sample is a document. Shards are read in place. A shard that only
// its compressed file has is held in memory, together at most kMostDecompressed bytes of them.
class MdsTokens final : public StoredTokens {
public:
    static constexpr std::int64_t kMostDecompressed = std::int64_t{256} << 20;

    // `directories`: each with an index.json. data_loss and unimplemented name the file, the shard
    // or sample, and what is wrong with it; failed_precondition: more is compressed than may be
    // held, with the command that decompresses it.
    static Result<std::unique_ptr<MdsTokens>> open(const std::string& path,
                                                   const std::vector<std::string>& directories,
                                                   const ReadWatch& watch = {});

    std::string describe() const override;
    std::int64_t num_documents() const override { return std::ssize(documents_); }
    std::int64_t num_tokens(std::int64_t document) const override;
    std::string document_name(std::int64_t document) const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override;
    Status check_ids(std::int64_t vocabulary, const ReadWatch& watch) const override;

    Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) const override;

private:
    // The bytes of a shard: those of a file, or decompressed ones.
    struct Shard {
        FileBytes file;
        std::optional<std::vector<std::byte>> decompressed;  // nothing: the file's own
        MdsShard facts;
        std::size_t ids = 0;  // columns
        std::optional<std::size_t> indices;

        std::int64_t size() const;
        Status read(std::int64_t at, std::span<std::byte> out) const;
    };
    // A sample, whose first bytes are read at once: over a network each read takes its time.
    struct Sample {
        const Shard& shard;
        std::int64_t first = 0, end = 0;  // bytes of the shard
        std::vector<std::byte> opening;

        Status open();
        Status read(std::int64_t at, std::span<std::byte> out) const;
    };
    struct Document {
        std::uint32_t shard = 0;
        std::uint32_t sample = 0;
        std::uint32_t first_byte = 0;  // of its tokens in the shard
        std::uint32_t tokens = 0;
        TokenDType dtype = TokenDType::i32;
    };

    explicit MdsTokens(std::string path) : StoredTokens(std::move(path)) {}
    Status add_directory(const std::string& directory, const ReadWatch& watch);
    Result<Shard> open_shard(const std::string& directory, MdsShard facts, const ReadWatch& watch);
    Result<std::vector<std::byte>> decompress(const FileBytes& file, const MdsShard& facts);
    Status add_samples(const Shard& shard, const ReadWatch& watch);
    Status add_sample(const Sample& sample, std::int64_t index);
    Status add_spans(const Sample& sample, const MdsField& field, const Document& whole);

    std::vector<FileBytes> indexes_;
    std::vector<Shard> shards_;
    std::vector<Document> documents_;
    std::int64_t decompressed_ = 0;  // bytes
    std::int64_t total_tokens_ = 0;
};

}  // namespace rm
