#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <vector>

namespace rm::test {

#ifdef RM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// All cases; under a sanitizer every `kth`. The memory touched depends on branches, and a quarter
// of a large product takes them all; builds without a sanitizer compare the results of all cases.
template <typename Cases>
auto some(const Cases& cases, std::size_t kth = 4) {
    using Case = std::decay_t<decltype(*std::begin(cases))>;
    std::vector<Case> chosen;
    std::size_t index = 0;
    for (const Case& one : cases)
        if (index++ % (kSanitized ? kth : 1) == 0) chosen.push_back(one);
    return chosen;
}

}  // namespace rm::test
