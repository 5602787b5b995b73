#include "kernels/cuda/attention/attention_runs.h"

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

// The runs in lists of which each takes as many tokens as room(list, token) says that fit from
// `token` on; an empty one takes some.
template <typename Room>
std::vector<device::RunList> cut_lists(std::string_view op, std::span<const Run> runs,
                                       const Room& room) {
    std::vector<device::RunList> lists;
    const auto is_full = [&](int token) {
        return lists.empty() || lists.back().count == device::kMaxRuns ||
               room(lists.back(), token) <= 0;
    };
    for (const device::RunList& list : run_lists(op, runs)) {
        for (int i = 0; i < list.count; ++i) {
            for (device::TokenRun rest = list.runs[i]; rest.length > 0;) {
                if (is_full(rest.token)) lists.emplace_back();
                device::RunList& last = lists.back();
                device::TokenRun part = rest;
                part.length =
                    static_cast<int>(std::min<std::int64_t>(rest.length, room(last, rest.token)));
                last.runs[last.count++] = part;
                rest.first += part.length;
                rest.token += part.length;
                rest.length -= part.length;
            }
        }
    }
    return lists;
}

}  // namespace

std::vector<device::RunList> tile_lists(std::string_view op, std::span<const Run> runs, int rows,
                                        int max_tiles) {
    return cut_lists(op, runs, [=](device::RunList list, int /*token*/) {
        return static_cast<std::int64_t>(max_tiles - number_tiles(list, rows)) * rows;
    });
}

std::vector<device::RunList> span_lists(std::string_view op, std::span<const Run> runs, int rows,
                                        int max_tokens) {
    return cut_lists(op, runs, [=](const device::RunList& list, int token) {
        const int begin = list.count == 0 ? token : list.runs[0].token;
        return std::int64_t{begin + max_tokens - token} / rows * rows;
    });
}

int number_tiles(device::RunList& list, int rows) {
    std::int64_t count = 0;
    for (int i = 0; i < list.count; ++i) {
        list.runs[i].first_tile = static_cast<int>(count);
        count += ceil_div(list.runs[i].length, rows);
    }
    return static_cast<int>(count);
}

namespace {

bool sees(const device::TokenRun& q, const device::TokenRun& k) {
    return q.document == k.document && k.first < q.first + q.length;
}

void add(device::TokenRun& run, int other) {
    if (run.see_begin == run.see_end) run.see_begin = static_cast<short>(other);
    run.see_end = static_cast<short>(other + 1);
}

}  // namespace

bool link(device::RunList& queries, device::RunList& keys) {
    for (device::RunList* list : {&queries, &keys}) {
        for (device::TokenRun& run : list->runs)
            run.see_begin = run.see_end = 0;
    }
    bool any = false;
    for (int q = 0; q < queries.count; ++q) {
        for (int k = 0; k < keys.count; ++k) {
            if (!sees(queries.runs[q], keys.runs[k])) continue;
            any = true;
            add(queries.runs[q], k);
            add(keys.runs[k], q);
        }
    }
    return any;
}

}  // namespace rm::cuda
