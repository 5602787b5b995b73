#include "engine/evaluate/fit_text.h"

#include <algorithm>

namespace rm {
namespace {

constexpr std::int64_t kFirstStep = 16;

struct Sized {
    std::int64_t amount = 0, size = 0;
};

// Between two amounts: where the limit lies if sizes grew evenly, or half way.
std::int64_t next_between(const Sized& fits, const Sized& exceeds, std::int64_t limit, bool even) {
    const std::int64_t room = exceeds.amount - fits.amount;
    std::int64_t step = room / 2;
    if (even) step = room * (limit - fits.size) / (exceeds.size - fits.size);
    return fits.amount + std::clamp<std::int64_t>(step, 1, room - 1);
}

}  // namespace

Result<std::optional<std::int64_t>> largest_amount(std::int64_t least, std::int64_t limit,
                                                   const SizeOfAmount& size_of) {
    Sized fits{least, 0};
    RM_TRY(fits.size, size_of(least));
    if (fits.size > limit) return std::optional<std::int64_t>();
    Sized exceeds;
    for (std::int64_t step = kFirstStep; exceeds.amount == 0; step *= 2) {
        Sized next{least + step, 0};
        RM_TRY(next.size, size_of(next.amount));
        (next.size > limit ? exceeds : fits) = next;
    }
    for (bool even = true; exceeds.amount - fits.amount > 1; even = !even) {
        Sized next{next_between(fits, exceeds, limit, even), 0};
        RM_TRY(next.size, size_of(next.amount));
        (next.size > limit ? exceeds : fits) = next;
    }
    return std::optional(fits.amount);
}

}  // namespace rm
