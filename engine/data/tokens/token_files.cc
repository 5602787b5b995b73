#include "engine/data/tokens/token_files.h"

#include <algorithm>

#include "base/words.h"
#include "engine/data/tokens/token_formats.h"

namespace rm {
namespace {

Result<std::vector<std::byte>> read_head(const FileBytes& file, std::int64_t bytes) {
    std::vector<std::byte> head(usize(std::min(bytes, file.size())));
    RM_RETURN_IF_ERROR(file.read(0, head));
    return head;
}

}  // namespace

void TokenFiles::add(File file) {
    file.first_document = num_documents_;
    num_documents_ += std::ssize(file.begins) - 1;
    files_.push_back(std::move(file));
}

Status TokenFiles::check_not_empty() const {
    if (total_tokens() > 0) return {};
    return invalid_argument("{} holds no tokens ({}, {})", path(), counted(files_.size(), "file"),
                            counted(num_documents_, "document"));
}

Result<std::unique_ptr<TokenFiles>> TokenFiles::open_megatron(
    const std::string& path, const std::vector<std::string>& prefixes, const ReadWatch& watch) {
    std::unique_ptr<TokenFiles> source(new TokenFiles(path, "Megatron"));
    for (const std::string& prefix : prefixes) {
        RM_TRY(FileBytes idx, FileBytes::open(prefix + ".idx"));
        RM_TRY(FileBytes bin, FileBytes::open(prefix + ".bin"));
        RM_RETURN_IF_ERROR(watch.pass(idx.size()));
        RM_TRY(const std::vector<std::byte> bytes, read_head(idx, idx.size()));
        RM_TRY(MegatronIndex index, within(idx.path(), parse_megatron_index(bytes)));
        const std::int64_t expected = index.num_tokens() * size_of(index.dtype);
        if (bin.size() != expected) {
            return data_loss("{} has {} bytes; {} names {} tokens of {}, which take {}", bin.path(),
                             bin.size(), idx.path(), index.num_tokens(), to_string(index.dtype),
                             expected);
        }
        source->add({std::move(bin), index.dtype, 0, std::move(index.begins), 0});
        source->indexes_.push_back(std::move(idx));
    }
    RM_RETURN_IF_ERROR(source->check_not_empty());
    return source;
}

Result<std::unique_ptr<TokenFiles>> TokenFiles::open_llmc(const std::string& path,
                                                          const std::vector<std::string>& files,
                                                          const ReadWatch& watch) {
    std::unique_ptr<TokenFiles> source(new TokenFiles(path, "llm.c"));
    for (const std::string& name : files) {
        RM_TRY(FileBytes bin, FileBytes::open(name));
        RM_RETURN_IF_ERROR(watch.pass(LlmcHeader::kBytes));
        RM_TRY(const std::vector<std::byte> head, read_head(bin, LlmcHeader::kBytes));
        RM_TRY(const LlmcHeader header, within(bin.path(), parse_llmc_header(head, bin.size())));
        source->add({std::move(bin), header.dtype, LlmcHeader::kBytes, {0, header.num_tokens}, 0});
    }
    RM_RETURN_IF_ERROR(source->check_not_empty());
    return source;
}

std::string TokenFiles::describe() const {
    return format("{} of {} in {} ({}, {})", counted(total_tokens(), "token"),
                  to_string(files_.front().dtype), counted(num_documents_, "document"), kind_,
                  counted(files_.size(), "file"));
}

const TokenFiles::File& TokenFiles::file_of(std::int64_t document) const {
    RM_CHECK(document >= 0 && document < num_documents_, "document {} of {}", document,
             num_documents_);
    const auto after = std::upper_bound(
        files_.begin(), files_.end(), document,
        [](std::int64_t wanted, const File& file) { return wanted < file.first_document; });
    return *std::prev(after);
}

std::int64_t TokenFiles::num_tokens(std::int64_t document) const {
    const File& file = file_of(document);
    const auto i = usize(document - file.first_document);
    return file.begins[i + 1] - file.begins[i];
}

std::string TokenFiles::document_name(std::int64_t document) const {
    const File& file = file_of(document);
    return format("{} document {}", file.data.path(), document - file.first_document);
}

Status TokenFiles::read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) const {
    const File& file = file_of(document);
    const std::int64_t first = file.begins[usize(document - file.first_document)] + offset;
    const std::int64_t size = size_of(file.dtype);
    std::vector<std::byte> bytes(out.size() * usize(size));
    RM_RETURN_IF_ERROR(file.data.read(file.first_byte + first * size, bytes));
    const Status decoded = decode_tokens(bytes, file.dtype, out);
    if (decoded) return {};
    return make_error(decoded.error().code, "{}, from token {}: {}", document_name(document),
                      offset, decoded.error().message);
}

Status TokenFiles::check_piece(const File& file, std::int64_t first, std::int64_t count,
                               std::int64_t vocabulary) const {
    const std::int64_t size = size_of(file.dtype);
    std::vector<std::byte> bytes(usize(count * size));
    std::vector<TokenId> ids(usize(count));
    RM_RETURN_IF_ERROR(file.data.read(file.first_byte + first * size, bytes));
    const Status decoded = decode_tokens(bytes, file.dtype, ids);
    if (!decoded) {
        return make_error(decoded.error().code, "{}, from token {}: {}", file.data.path(), first,
                          decoded.error().message);
    }
    return check_vocabulary(file.data.path(), first, ids, vocabulary);
}

// Samples the files: another tokenizer's data has such ids almost everywhere. Reads catch the rest.
Status TokenFiles::check_ids(std::int64_t vocabulary, const ReadWatch& watch) const {
    constexpr std::int64_t kMostLooked = std::int64_t{4} << 20;  // tokens of the set, roughly
    const std::int64_t piece =
        std::clamp<std::int64_t>(kMostLooked / (2 * std::ssize(files_)), 1024, 65'536);
    const double share = static_cast<double>(kMostLooked) / static_cast<double>(total_tokens());
    for (const File& file : files_) {
        const std::int64_t tokens = file.begins.back();
        const double looked = std::min(1.0, share) * static_cast<double>(tokens);
        const auto pieces = std::max<std::int64_t>(2, static_cast<std::int64_t>(looked) / piece);
        // Pieces cover the file from its first to its last token.
        const std::int64_t step = std::max(piece, (tokens - piece) / (pieces - 1));
        for (std::int64_t first = 0; first < tokens; first += step) {
            const std::int64_t count = std::min(piece, tokens - first);
            RM_RETURN_IF_ERROR(watch.pass(count * size_of(file.dtype)));
            RM_RETURN_IF_ERROR(check_piece(file, first, count, vocabulary));
        }
    }
    return {};
}

Result<std::string> TokenFiles::content_hash(const ReadWatch& watch) const {
    std::vector<const FileBytes*> files;
    for (const FileBytes& index : indexes_)
        files.push_back(&index);
    for (const File& file : files_)
        files.push_back(&file.data);
    return content_hash_of(files, watch);
}

}  // namespace rm
