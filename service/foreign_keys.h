#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rm {

// Where the job file has what other trainers call `key` (lr, cp, epochs, wandb): one sentence.
// Nothing for a word that none of them has.
std::optional<std::string> foreign_key(std::string_view key);

}  // namespace rm
