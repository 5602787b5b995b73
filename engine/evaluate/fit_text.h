#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"

namespace rm {

// Makes a text of an amount of haystack and returns its size in tokens, which grows with the
// amount.
using SizeOfAmount = std::function<Result<std::int64_t>(std::int64_t amount)>;

// The largest amount from `least` on whose size is at most `limit`; nothing: not even `least` is.
// Few texts are made, and none much longer than the limit: making and encoding one takes long.
Result<std::optional<std::int64_t>> largest_amount(std::int64_t least, std::int64_t limit,
                                                   const SizeOfAmount& size_of);

}  // namespace rm
