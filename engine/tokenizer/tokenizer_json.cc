#include "engine/tokenizer/tokenizer_json.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "engine/data/file/hash.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"
#include "engine/tokenizer/json_keys.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFileName = "tokenizer.json";

const json& value_or_null(const json& root, std::string_view key) {
    static const json null;
    const json* value = find_value(root, key);
    return value == nullptr ? null : *value;
}

struct Parsed {
    BpeParts parts;
    std::optional<TokenId> end_of_document;
};

Result<Parsed> parse_all(const TokenizerFiles& files) {
    RM_TRY(const json root, parse_strict_json(files.tokenizer, kMostTokenizerBytes));
    RM_TRY(const json* model, field_at(root, "model"));
    RM_TRY(TokenVocabulary vocabulary, within("model", parse_vocabulary(*model)));
    RM_TRY(std::vector<AddedTokens> added,
           within("added_tokens",
                  parse_added_tokens(value_or_null(root, "added_tokens"), vocabulary)));
    RM_RETURN_IF_ERROR(within("normalizer", check_normalizer(value_or_null(root, "normalizer"))));
    RM_RETURN_IF_ERROR(within("decoder", check_decoder(value_or_null(root, "decoder"))));
    RM_TRY(PreTokenizer pre_tokenizer,
           within("pre_tokenizer", parse_pre_tokenizer(value_or_null(root, "pre_tokenizer"))));
    RM_TRY(Template around,
           within("post_processor",
                  parse_post_processor(value_or_null(root, "post_processor"), vocabulary)));
    RM_TRY(const std::optional<TokenId> end, find_end_token(files, added, vocabulary));
    RM_TRY(Bpe bpe, within("model", parse_bpe(*model, std::move(vocabulary))));
    return Parsed{BpeParts{std::move(bpe), std::move(added), std::move(pre_tokenizer),
                           std::move(around.prefix), std::move(around.suffix)},
                  end};
}

Result<std::string> read_whole(const fs::path& path) {
    std::error_code failure;
    const std::uintmax_t size = fs::file_size(path, failure);
    std::ifstream file(path, std::ios::binary);
    if (failure || !file) {
        const int reason = failure ? failure.value() : errno;
        return make_error(reason == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
                          "cannot read {}: {}", path.string(),
                          std::generic_category().message(reason));
    }
    if (size > kMostTokenizerBytes) {
        return data_loss("{} has {} bytes; a tokenizer has at most {}", path.string(), size,
                         kMostTokenizerBytes);
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::optional<std::string>> read_if_there(const fs::path& path) {
    if (!fs::exists(path)) return std::optional<std::string>();
    RM_TRY(std::string text, read_whole(path));
    return std::optional(std::move(text));
}

using Found = std::optional<TokenId>;

constexpr std::array<std::string_view, 3> kUsualNames = {"<|end_of_text|>", "<|endoftext|>",
                                                         "</s>"};

// "</s>" or {"content": "</s>", ...}.
Result<Found> from_tokenizer_config(std::string_view text, const TokenVocabulary& vocabulary) {
    RM_TRY(const json config, parse_strict_json(text, kMostTokenizerBytes));
    const json* value = find_value(config, "eos_token");
    if (value == nullptr) return Found();
    RM_TRY(const std::string content, value->is_object()
                                          ? json_at<std::string>(*value, "content")
                                          : json_at<std::string>(config, "eos_token"));
    if (const auto id = vocabulary.find_spelled(content)) return Found(*id);
    return data_loss("eos_token {} is no token of tokenizer.json", shown_token(content));
}

Result<Found> from_generation_config(std::string_view text, const TokenVocabulary& vocabulary) {
    RM_TRY(const json config, parse_strict_json(text, kMostTokenizerBytes));
    const json* value = find_value(config, "eos_token_id");
    if (value == nullptr || (value->is_array() && value->empty())) return Found();
    const json first = {{"eos_token_id", value->is_array() ? value->front() : *value}};
    RM_TRY(const std::int64_t id, json_at<std::int64_t>(first, "eos_token_id"));
    if (id >= 0 && id < vocabulary.num_ids() && vocabulary.bytes_of(static_cast<TokenId>(id))) {
        return Found(static_cast<TokenId>(id));
    }
    return data_loss("eos_token_id {} is no token of tokenizer.json", id);
}

Found by_usual_name(const std::vector<AddedTokens>& added) {
    for (const std::string_view name : kUsualNames) {
        for (const AddedTokens& set : added) {
            for (const AddedToken& token : set.tokens()) {
                if (token.content == name) return token.id;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<BpeTokenizer>> parse_tokenizer(const TokenizerFiles& files) {
    RM_TRY(Parsed parsed, within(files.name, parse_all(files)));
    Xxh3 hash;
    hash.update(files.tokenizer);
    hash.update(std::int64_t{parsed.end_of_document.value_or(-1)});
    return std::make_unique<BpeTokenizer>(BpeTokenizer::Names{files.name, hash.hex()},
                                          std::move(parsed.parts), parsed.end_of_document);
}

Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const std::string& path) {
    const fs::path file = fs::is_directory(path) ? fs::path(path) / kFileName : fs::path(path);
    TokenizerFiles files{.name = file.string()};
    RM_TRY(files.tokenizer, read_whole(file));
    RM_TRY(files.tokenizer_config, read_if_there(file.parent_path() / "tokenizer_config.json"));
    RM_TRY(files.generation_config, read_if_there(file.parent_path() / "generation_config.json"));
    RM_TRY(std::unique_ptr<BpeTokenizer> tokenizer, parse_tokenizer(files));
    return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Result<Found> find_end_token(const TokenizerFiles& files, const std::vector<AddedTokens>& added,
                             const TokenVocabulary& vocabulary) {
    if (files.tokenizer_config) {
        RM_TRY(const Found found,
               within("tokenizer_config.json",
                      from_tokenizer_config(*files.tokenizer_config, vocabulary)));
        if (found) return found;
    }
    if (files.generation_config) {
        RM_TRY(const Found found,
               within("generation_config.json",
                      from_generation_config(*files.generation_config, vocabulary)));
        if (found) return found;
    }
    return by_usual_name(added);
}

}  // namespace rm
