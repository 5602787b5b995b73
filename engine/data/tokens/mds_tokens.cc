#include "engine/data/tokens/mds_tokens.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "engine/data/file/zstd.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIds = "input_ids", kIndices = "indices";

std::optional<std::size_t> find_column(const MdsShard& shard, std::string_view name) {
    const auto found = std::ranges::find(shard.columns, name, &MdsColumn::name);
    if (found == shard.columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - shard.columns.begin());
}

Error lacks_ids(const MdsShard& shard) {
    std::vector<std::string> names;
    for (const MdsColumn& column : shard.columns)
        names.push_back(column.name);
    return data_loss("{} has no column '{}' of tokens; its columns are {}", shard.raw_name, kIds,
                     join(names));
}

Result<std::string> whole_text(const FileBytes& file) {
    std::string text(usize(file.size()), '\0');
    RM_RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(text))));
    return text;
}

}  // namespace

std::int64_t MdsTokens::Shard::size() const {
    return decompressed ? std::ssize(*decompressed) : file.size();
}

Status MdsTokens::Shard::read(std::int64_t at, std::span<std::byte> out) const {
    if (at < 0 || at + std::ssize(out) > size())
        return data_loss("bytes {} to {} of a shard of {}", at, at + std::ssize(out), size());
    if (!decompressed) return file.read(at, out);
    std::copy_n(decompressed->begin() + at, out.size(), out.begin());
    return {};
}

Status MdsTokens::Sample::open() {
    constexpr std::int64_t kOpening = 4096;  // spans of a packed sample, too, as a rule
    opening.resize(usize(std::min(kOpening, end - first)));
    return shard.read(first, opening);
}

Status MdsTokens::Sample::read(std::int64_t at, std::span<std::byte> out) const {
    if (at + std::ssize(out) > first + std::ssize(opening)) return shard.read(at, out);
    std::copy_n(opening.begin() + (at - first), out.size(), out.begin());
    return {};
}

Result<std::vector<std::byte>> MdsTokens::decompress(const FileBytes& file, const MdsShard& facts) {
    decompressed_ += facts.raw_bytes;
    if (decompressed_ > kMostDecompressed) {
        return make_error(ErrorCode::failed_precondition,
                          "{} holds more than {} compressed, which every rank would hold in "
                          "memory; decompress it "
                          "once: for f in {}/*.zstd; do zstd -d \"$f\" -o \"${{f%.zstd}}\"; done",
                          path(), Bytes{kMostDecompressed},
                          fs::path(file.path()).parent_path().string());
    }
    std::vector<std::byte> compressed(usize(file.size())), raw(usize(facts.raw_bytes));
    RM_RETURN_IF_ERROR(file.read(0, compressed));
    RM_RETURN_IF_ERROR(within(file.path(), decompress_zstd(compressed, raw)));
    return raw;
}

// The raw file, or else the compressed one.
Result<MdsTokens::Shard> MdsTokens::open_shard(const std::string& directory, MdsShard facts,
                                               const ReadWatch& watch) {
    std::error_code ignored;
    const std::string raw = format("{}/{}", directory, facts.raw_name);
    const bool is_raw = facts.zip_name.empty() || fs::exists(raw, ignored);
    const std::int64_t bytes = is_raw ? facts.raw_bytes : facts.zip_bytes;
    RM_TRY(FileBytes file,
           FileBytes::open(is_raw ? raw : format("{}/{}", directory, facts.zip_name)));
    RM_RETURN_IF_ERROR(watch.pass(is_raw ? 1 : file.size()));
    if (file.size() != bytes) {
        return data_loss("{} has {} bytes; {}/{} says {}", file.path(), file.size(), directory,
                         kMdsIndexFile, bytes);
    }
    Shard shard{std::move(file), {}, std::move(facts), 0, {}};
    if (!is_raw) {
        RM_TRY(shard.decompressed, decompress(shard.file, shard.facts));
    }
    const auto ids = find_column(shard.facts, kIds);
    if (!ids) return lacks_ids(shard.facts);
    shard.ids = *ids;
    shard.indices = find_column(shard.facts, kIndices);
    return shard;
}

// Each pair is a first token and an end, ascending.
Status MdsTokens::add_spans(const Sample& sample, const MdsField& field, const Document& whole) {
    const std::string& encoding = sample.shard.facts.columns[*sample.shard.indices].encoding;
    std::vector<std::byte> bytes(usize(field.bytes));
    RM_RETURN_IF_ERROR(sample.read(field.first, bytes));
    const std::span head(bytes.data(), usize(std::min(field.bytes, kMdsArrayHead)));
    RM_TRY(const MdsArray array, within(kIndices, parse_mds_array(encoding, head, field.bytes)));
    std::vector<TokenId> bounds(usize(array.count));
    RM_RETURN_IF_ERROR(within(kIndices, decode_tokens(std::span(bytes).subspan(usize(array.first)),
                                                      array.dtype, bounds)));
    if (bounds.size() % 2 != 0) return data_loss("'{}' has {} bounds", kIndices, bounds.size());
    std::int64_t last = 0;
    for (std::size_t i = 0; i < bounds.size(); i += 2) {
        const std::int64_t first = bounds[i], end = bounds[i + 1];
        if (first < last || end < first || end > whole.tokens) {
            return data_loss(
                "'{}' has a document from {} to {}; documents rise from {} to the {} "
                "tokens of the sample",
                kIndices, first, end, last, whole.tokens);
        }
        Document document = whole;
        document.first_byte += static_cast<std::uint32_t>(first * size_of(whole.dtype));
        document.tokens = static_cast<std::uint32_t>(end - first);
        documents_.push_back(document);
        total_tokens_ += document.tokens;
        last = end;
    }
    return {};
}

Status MdsTokens::add_sample(const Sample& sample, std::int64_t index) {
    const Shard& shard = sample.shard;
    std::vector<std::byte> head(usize(mds_head_bytes(shard.facts)));
    RM_RETURN_IF_ERROR(sample.read(sample.first, head));
    RM_TRY(const std::vector<MdsField> fields,
           mds_fields(shard.facts, head, sample.first, sample.end));
    const MdsField& ids = fields[shard.ids];
    head.resize(usize(std::min(ids.bytes, kMdsArrayHead)));
    RM_RETURN_IF_ERROR(sample.read(ids.first, head));
    RM_TRY(const MdsArray array,
           within(kIds, parse_mds_array(shard.facts.columns[shard.ids].encoding, head, ids.bytes)));
    const Document whole{.shard = static_cast<std::uint32_t>(shards_.size()),
                         .sample = static_cast<std::uint32_t>(index),
                         .first_byte = static_cast<std::uint32_t>(ids.first + array.first),
                         .tokens = static_cast<std::uint32_t>(array.count),
                         .dtype = array.dtype};
    if (shard.indices) return add_spans(sample, fields[*shard.indices], whole);
    documents_.push_back(whole);
    total_tokens_ += whole.tokens;
    return {};
}

// A shard begins with the number of its samples, and where each begins and the last ends.
Status MdsTokens::add_samples(const Shard& shard, const ReadWatch& watch) {
    const std::int64_t samples = shard.facts.samples;
    const std::int64_t most = shard.size() / 4 - 2;
    if (samples > most)
        return data_loss("has {} bytes, too few for {} samples", shard.size(), samples);
    std::vector<std::uint32_t> head(usize(samples + 2));
    RM_RETURN_IF_ERROR(shard.read(0, std::as_writable_bytes(std::span(head))));
    if (head[0] != samples) return data_loss("has {} samples; the index says {}", head[0], samples);
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t first = head[usize(i + 1)], end = head[usize(i + 2)];
        if (first > end || end > shard.size()) {
            return data_loss("sample {} lies at bytes {} to {} of {}", i, first, end, shard.size());
        }
        RM_RETURN_IF_ERROR(watch.pass(end - first));
        Sample sample{shard, first, end, {}};
        RM_RETURN_IF_ERROR(sample.open());
        const Status added = add_sample(sample, i);
        if (!added) return within(format("sample {}", i), added.error());
    }
    return {};
}

Status MdsTokens::add_directory(const std::string& directory, const ReadWatch& watch) {
    RM_TRY(FileBytes index, FileBytes::open(format("{}/{}", directory, kMdsIndexFile)));
    RM_RETURN_IF_ERROR(watch.pass(index.size()));
    RM_TRY(const std::string text, whole_text(index));
    RM_TRY(std::vector<MdsShard> facts, within(index.path(), parse_mds_index(text)));
    indexes_.push_back(std::move(index));
    for (MdsShard& each : facts) {
        RM_TRY(Shard shard, open_shard(directory, std::move(each), watch));
        const Status added = add_samples(shard, watch);
        if (!added) return within(shard.file.path(), added.error());
        shards_.push_back(std::move(shard));
    }
    return {};
}

Result<std::unique_ptr<MdsTokens>> MdsTokens::open(const std::string& path,
                                                   const std::vector<std::string>& directories,
                                                   const ReadWatch& watch) {
    std::unique_ptr<MdsTokens> tokens(new MdsTokens(path));
    for (const std::string& directory : directories)
        RM_RETURN_IF_ERROR(tokens->add_directory(directory, watch));
    if (tokens->total_tokens_ > 0) return tokens;
    return invalid_argument("{} holds no tokens ({}, {})", path,
                            counted(tokens->shards_.size(), "shard"),
                            counted(tokens->num_documents(), "document"));
}

std::string MdsTokens::describe() const {
    return format("{} of {} in {} (MDS, {})", counted(total_tokens_, "token"),
                  to_string(documents_.front().dtype), counted(num_documents(), "document"),
                  counted(shards_.size(), "shard"));
}

std::int64_t MdsTokens::num_tokens(std::int64_t document) const {
    return documents_[usize(document)].tokens;
}

std::string MdsTokens::document_name(std::int64_t document) const {
    const Document& found = documents_[usize(document)];
    const Shard& shard = shards_[found.shard];
    const std::string name = format("{} sample {}", shard.file.path(), found.sample);
    return shard.indices ? format("{} (document {} of the set)", name, document) : name;
}

Status MdsTokens::read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) const {
    const Document& from = documents_[usize(document)];
    const std::int64_t size = size_of(from.dtype);
    std::vector<std::byte> bytes(out.size() * usize(size));
    RM_RETURN_IF_ERROR(shards_[from.shard].read(from.first_byte + offset * size, bytes));
    const Status decoded = decode_tokens(bytes, from.dtype, out);
    if (decoded) return {};
    return within(format("{}, from token {}", document_name(document), offset), decoded.error());
}

// The first tokens of documents all over the set: another tokenizer's data has such ids almost
// everywhere. Reads catch the rest.
Status MdsTokens::check_ids(std::int64_t vocabulary, const ReadWatch& watch) const {
    constexpr std::int64_t kMostDocuments = 4096, kMostTokens = 1024;
    const std::int64_t step = std::max<std::int64_t>(1, num_documents() / kMostDocuments);
    std::vector<TokenId> ids;
    for (std::int64_t i = 0; i < num_documents(); i += step) {
        ids.resize(usize(std::min(num_tokens(i), kMostTokens)));
        RM_RETURN_IF_ERROR(watch.pass(std::ssize(ids)));
        RM_RETURN_IF_ERROR(read(i, 0, ids));
        RM_RETURN_IF_ERROR(check_vocabulary(document_name(i), 0, ids, vocabulary));
    }
    return {};
}

Result<std::string> MdsTokens::content_hash(const ReadWatch& watch) const {
    std::vector<const FileBytes*> files;
    for (const FileBytes& index : indexes_)
        files.push_back(&index);
    for (const Shard& shard : shards_)
        files.push_back(&shard.file);
    return content_hash_of(files, watch);
}

}  // namespace rm
