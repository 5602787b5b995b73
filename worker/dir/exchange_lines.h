#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

// The messages of ranks and their worker over exchange.sock: one line of JSON each way. Blobs are
// in hexadecimal. docs/formats/shim_directory.md.
namespace rm {

// rank -> worker
struct ExchangeQuestion {
    int rank = 0;
    std::string group;
    std::string blob;
    bool operator==(const ExchangeQuestion&) const = default;
};
std::string to_json(const ExchangeQuestion& question);
Result<ExchangeQuestion> parse_exchange_question(std::string_view line);

// rank -> worker: asks for permission to publish an export.
struct PublishQuestion {
    int rank = 0;
    bool operator==(const PublishQuestion&) const = default;
};
std::string to_json(const PublishQuestion& question);

// Either question, parsed from a rank's line.
using RankQuestion = std::variant<ExchangeQuestion, PublishQuestion>;
Result<RankQuestion> parse_rank_question(std::string_view line);

// worker -> rank: the blobs by rank, or why there is no table. DATA_LOSS when the line is neither.
using ExchangeAnswer = Result<std::vector<std::string>>;
std::string to_json(const ExchangeAnswer& answer);
ExchangeAnswer parse_exchange_answer(std::string_view line);

// worker -> rank: OK, or why not. DATA_LOSS when the line is neither.
std::string publish_answer_to_json(const Status& answer);
Status parse_publish_answer(std::string_view line);

}  // namespace rm
