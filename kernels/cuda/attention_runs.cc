#include "kernels/cuda/attention_runs.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "kernels/cuda/launch.h"

namespace rm::cuda {

std::vector<device::RunList> run_lists(std::string_view op, std::span<const Run> runs) {
    constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
    std::vector<device::RunList> lists;
    std::int64_t token = 0;
    for (const Run& run : runs) {
        const std::int64_t start = token;
        token += run.length;
        RM_CHECK(run.first + run.length <= kLargest && token <= kLargest,
                 "{}: {} ends at token {} of this side; positions and tokens up to {} are possible",
                 op, run, token, kLargest);
        if (run.document == kPaddingDocument || run.length == 0) continue;
        if (lists.empty() || lists.back().count == device::kMaxRuns) lists.emplace_back();
        device::RunList& list = lists.back();
        list.runs[list.count++] = {.document = run.document,
                                   .first = static_cast<int>(run.first),
                                   .length = static_cast<int>(run.length),
                                   .token = static_cast<int>(start)};
    }
    return lists;
}

namespace {
std::span<const device::TokenRun> runs_of(const device::RunList& list) {
    return {list.runs, static_cast<std::size_t>(list.count)};
}
}  // namespace

std::int64_t num_tiles(const device::RunList& list, int rows) {
    std::int64_t count = 0;
    for (const device::TokenRun& run : runs_of(list))
        count += ceil_div(run.length, rows);
    return count;
}

bool sees_any(const device::RunList& queries, const device::RunList& keys) {
    const auto sees = [](const device::TokenRun& q, const device::TokenRun& k) {
        return q.document == k.document && k.first < q.first + q.length;
    };
    return std::ranges::any_of(runs_of(queries), [&](const device::TokenRun& q) {
        return std::ranges::any_of(runs_of(keys),
                                   [&](const device::TokenRun& k) { return sees(q, k); });
    });
}

}  // namespace rm::cuda
