#include "worker/dir/exchange_lines.h"

#include <nlohmann/json.hpp>

namespace rm {
namespace {

using nlohmann::json;

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4];
        text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

Result<std::string> from_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        const std::size_t high = kDigits.find(text[i]);
        const std::size_t low = kDigits.find(text[i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            return make_error(ErrorCode::data_loss, "'{}' is not a pair of hexadecimal digits",
                              text.substr(i, 2));
        }
        bytes += static_cast<char>(high << 4 | low);
    }
    if (text.size() % 2 != 0) return make_error(ErrorCode::data_loss, "half a byte at the end");
    return bytes;
}

Error unreadable(const json::exception& error) {
    return make_error(ErrorCode::data_loss, "an exchange line cannot be read: {}", error.what());
}

std::string error_to_json(const Error& error) {
    return json{{"code", static_cast<int>(error.code)}, {"error", error.message}}.dump(
        -1, ' ', false, json::error_handler_t::replace);
}

Error error_of(const json& answer) {
    return {static_cast<ErrorCode>(answer.at("code").get<int>()),
            answer.at("error").get<std::string>()};
}

}  // namespace

std::string to_json(const ExchangeQuestion& question) {
    return json{{"rank", question.rank}, {"group", question.group}, {"blob", to_hex(question.blob)}}
        .dump();
}

Result<ExchangeQuestion> parse_exchange_question(std::string_view line) {
    try {
        const json value = json::parse(line);
        RM_TRY(std::string blob, from_hex(value.at("blob").get<std::string>()));
        return ExchangeQuestion{value.at("rank").get<int>(), value.at("group").get<std::string>(),
                                std::move(blob)};
    } catch (const json::exception& error) {
        return unreadable(error);
    }
}

std::string to_json(const PublishQuestion& question) {
    return json{{"rank", question.rank}, {"publish", true}}.dump();
}

Result<RankQuestion> parse_rank_question(std::string_view line) {
    const json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (value.is_object() && value.value("publish", json()) == true) {
        const auto rank = value.find("rank");
        if (rank != value.end() && rank->is_number_integer()) {
            return RankQuestion(PublishQuestion{rank->get<int>()});
        }
    }
    RM_TRY(ExchangeQuestion question, parse_exchange_question(line));
    return RankQuestion(std::move(question));
}

std::string publish_answer_to_json(const Status& answer) {
    return answer ? R"({"ok":true})" : error_to_json(answer.error());
}

Status parse_publish_answer(std::string_view line) {
    try {
        const json value = json::parse(line);
        if (value.contains("error")) return error_of(value);
        if (value.at("ok") == true) return {};
        return make_error(ErrorCode::data_loss, "an answer that says nothing: {}", line);
    } catch (const json::exception& error) {
        return unreadable(error);
    }
}

std::string to_json(const ExchangeAnswer& answer) {
    if (!answer) return error_to_json(answer.error());
    json blobs = json::array();
    for (const std::string& blob : *answer)
        blobs.push_back(to_hex(blob));
    return json{{"blobs", std::move(blobs)}}.dump();
}

ExchangeAnswer parse_exchange_answer(std::string_view line) {
    try {
        const json value = json::parse(line);
        if (value.contains("error")) return error_of(value);
        std::vector<std::string> blobs;
        for (const json& entry : value.at("blobs")) {
            RM_TRY(std::string blob, from_hex(entry.get<std::string>()));
            blobs.push_back(std::move(blob));
        }
        return blobs;
    } catch (const json::exception& error) {
        return unreadable(error);
    }
}

}  // namespace rm
