#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What ranks and their worker say over exchange.sock: one line of JSON each way. Blobs are in
// hexadecimal. docs/formats/shim_directory.md.
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

// worker -> rank: the blobs by rank, or why there is no table. DATA_LOSS when the line is neither.
using ExchangeAnswer = Result<std::vector<std::string>>;
std::string to_json(const ExchangeAnswer& answer);
ExchangeAnswer parse_exchange_answer(std::string_view line);

}  // namespace rm
