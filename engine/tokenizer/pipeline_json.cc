#include <cctype>

#include "engine/json/json_object.h"
#include "engine/tokenizer/json_keys.h"
#include "engine/tokenizer/tokenizer_json.h"

namespace rm {
namespace {

using nlohmann::json;

// GPT-2's cut, which ByteLevel makes itself.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The parts of a Sequence, or the one value itself.
Result<std::vector<const json*>> parts_of(const json& value, std::string_view list_key) {
    std::vector<const json*> parts;
    RM_TRY(const std::string type, json_at<std::string>(value, "type"));
    if (type != "Sequence") return std::vector<const json*>{&value};
    RM_RETURN_IF_ERROR(only_keys(value, {"type", list_key}));
    RM_TRY(const json* list, list_at(value, list_key));
    for (const json& part : *list)
        parts.push_back(&part);
    return parts;
}

PreTokenizer::Stage split_at(Regex regex) {
    PreTokenizer::Stage stage{PreTokenizer::Kind::split, {}};
    stage.regex.push_back(std::move(regex));
    return stage;
}

// `text` as an expression that matches just it.
std::string matching_just(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && std::ispunct(byte) != 0) pattern.push_back('\\');
        pattern.push_back(c);
    }
    return pattern;
}

Result<std::string> pattern_of(const json& split) {
    RM_TRY(const json* pattern, field_at(split, "pattern"));
    RM_RETURN_IF_ERROR(only_keys(*pattern, {"Regex", "String"}));
    if (pattern->contains("Regex")) return json_at<std::string>(*pattern, "Regex");
    RM_TRY(const std::string text, json_at<std::string>(*pattern, "String"));
    return matching_just(text);
}

Status add_split(const json& part, PreTokenizer& out) {
    RM_RETURN_IF_ERROR(only_keys(part, {"type", "pattern", "behavior", "invert"}));
    std::string behavior;
    bool invert = false;
    JsonObject object = JsonObject::of_file(part);
    object.require("behavior", behavior).read("invert", invert);
    RM_RETURN_IF_ERROR(object.status());
    if (behavior != "Isolated") return unsupported(format("behavior {}", behavior), "Isolated");
    if (invert) return unsupported("invert: true", "false");
    RM_TRY(const std::string pattern, pattern_of(part));
    RM_TRY(Regex regex, Regex::compile(pattern));
    out.stages.push_back(split_at(std::move(regex)));
    return {};
}

Status add_digits(const json& part, PreTokenizer& out) {
    RM_RETURN_IF_ERROR(only_keys(part, {"type", "individual_digits"}));
    bool each = false;
    RM_RETURN_IF_ERROR(JsonObject::of_file(part).read("individual_digits", each).status());
    RM_TRY(Regex regex, Regex::compile(each ? R"(\p{N})" : R"(\p{N}+)"));
    out.stages.push_back(split_at(std::move(regex)));
    return {};
}

Status add_byte_level(const json& part, PreTokenizer& out) {
    RM_RETURN_IF_ERROR(only_keys(part, {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    bool space = true, use_regex = true;
    JsonObject object = JsonObject::of_file(part);
    object.read("add_prefix_space", space).read("use_regex", use_regex);
    RM_RETURN_IF_ERROR(object.status());
    if (space) out.stages.push_back({PreTokenizer::Kind::space_first, {}});
    if (use_regex) {
        RM_TRY(Regex regex, Regex::compile(kByteLevelPattern));
        out.stages.push_back(split_at(std::move(regex)));
    }
    return {};
}

// After ByteLevel a text is spelled in its alphabet, so nothing may follow it.
Status add_part(const json& part, bool last, PreTokenizer& out) {
    RM_TRY(const std::string type, json_at<std::string>(part, "type"));
    if ((type == "ByteLevel") != last) {
        return unsupported(format("{} {}", type, last ? "at the end" : "before the end"),
                           "Split and Digits, then one ByteLevel");
    }
    if (last) return add_byte_level(part, out);
    if (type == "Split") return add_split(part, out);
    if (type == "Digits") return add_digits(part, out);
    return unsupported(type, "Split, Digits, ByteLevel");
}

Status add_template_tokens(const json& piece, const json& known, std::vector<TokenId>& ids,
                           const TokenVocabulary& vocabulary) {
    RM_TRY(const std::string name, json_at<std::string>(piece, "id"));
    RM_TRY(const json* token, field_at(known, name));
    RM_TRY(const std::vector<std::int64_t> list, json_at<std::vector<std::int64_t>>(*token, "ids"));
    for (const std::int64_t id : list) {
        if (id < 0 || id >= vocabulary.num_ids() ||
            !vocabulary.bytes_of(static_cast<TokenId>(id))) {
            return data_loss("{} has id {}, which no token has", shown_token(name), id);
        }
        ids.push_back(static_cast<TokenId>(id));
    }
    return {};
}

Result<Template> parse_template(const json& value, const TokenVocabulary& vocabulary) {
    RM_RETURN_IF_ERROR(only_keys(value, {"type", "single", "pair", "special_tokens"}));
    RM_TRY(const json* pieces, list_at(value, "single"));
    RM_TRY(const json* known, field_at(value, "special_tokens"));
    Template made;
    int num_texts = 0;
    for (const json& piece : *pieces) {
        if (const json* text = find_value(piece, "Sequence")) {
            RM_TRY(const std::string id, json_at<std::string>(*text, "id"));
            if (id != "A" || ++num_texts > 1) return unsupported("a text other than A once", "A");
            continue;
        }
        RM_TRY(const json* token, field_at(piece, "SpecialToken"));
        RM_RETURN_IF_ERROR(add_template_tokens(
            *token, *known, num_texts == 0 ? made.prefix : made.suffix, vocabulary));
    }
    if (num_texts == 1) return made;
    return data_loss("'single' has no text A");
}

}  // namespace

Status check_normalizer(const json& value) {
    if (value.is_null()) return {};
    RM_TRY(const auto parts, parts_of(value, "normalizers"));
    if (parts.empty()) return {};
    RM_TRY(const std::string type, json_at<std::string>(*parts.front(), "type"));
    return unsupported(type, "no normalizer (null)");
}

Status check_decoder(const json& value) {
    if (value.is_null()) return {};
    RM_TRY(const auto parts, parts_of(value, "decoders"));
    for (const json* part : parts) {
        RM_TRY(const std::string type, json_at<std::string>(*part, "type"));
        if (type != "ByteLevel") return unsupported(type, "ByteLevel");
    }
    return {};
}

Result<PreTokenizer> parse_pre_tokenizer(const json& value) {
    if (value.is_null()) return unsupported("null", "ByteLevel, or a Sequence that ends with it");
    RM_TRY(const auto parts, parts_of(value, "pretokenizers"));
    if (parts.empty()) return unsupported("an empty Sequence", "one that ends with ByteLevel");
    PreTokenizer out;
    for (const json* part : parts)
        RM_RETURN_IF_ERROR(add_part(*part, part == parts.back(), out));
    return out;
}

Result<Template> parse_post_processor(const json& value, const TokenVocabulary& vocabulary) {
    Template made;
    if (value.is_null()) return made;
    RM_TRY(const auto parts, parts_of(value, "processors"));
    int num_templates = 0;
    for (const json* part : parts) {
        RM_TRY(const std::string type, json_at<std::string>(*part, "type"));
        if (type == "ByteLevel") continue;  // only moves offsets
        if (type != "TemplateProcessing" || ++num_templates > 1) {
            return unsupported(num_templates > 1 ? "a second template" : type,
                               "ByteLevel and one TemplateProcessing");
        }
        RM_TRY(made, parse_template(*part, vocabulary));
    }
    return made;
}

}  // namespace rm
