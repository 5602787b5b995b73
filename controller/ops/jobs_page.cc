
#include <limits>
#include <map>

#include "controller/ops/views.h"

namespace rm {

namespace {

// Jobs looked at in one call, wanted or not: commits wait while a reader looks. A page may be short
// or empty and still say where to go on.
constexpr std::size_t kMaxLooks = 20'000;

using Numbers = JobIndex::Map;

// The live ones are few beside what history holds.
Numbers live_numbers(const State& state) {
    Numbers numbers;
    for (const JobId& id : state.live_jobs) {
        const Job* job = find_job(state, id);
        numbers.emplace(job->number, job);
    }
    return numbers;
}

struct PageLimits {
    std::int64_t before = 0;  // a job's number
    std::size_t jobs = 0;
};

JobsPage take_page(const State& state, const Now& now, const Numbers& numbers,
                   const PageLimits& limits, const std::function<bool(const Job&)>& wanted) {
    JobsPage page;
    auto it = numbers.lower_bound(limits.before);
    std::int64_t last = limits.before;
    std::size_t bytes = 0;
    for (std::size_t looks = 0; it != numbers.begin(); ++looks) {
        --it;
        const Job& job = *it->second;
        const bool fits = wanted(job);
        const bool full = page.jobs.size() == limits.jobs || bytes >= kMaxPageBytes;
        if (looks == kMaxLooks || (fits && full)) {
            page.next_token = std::to_string(last);
            break;
        }
        if (fits) {
            page.jobs.push_back(without_text(to_message(state, job, now)));
            bytes += page.jobs.back().ByteSizeLong();
        }
        last = job.number;
    }
    return page;
}

}  // namespace

Result<JobsPage> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                Which which, const std::function<bool(const Job&)>& wanted) {
    RM_TRY(const std::int64_t before,
           parse_page_token(token, std::numeric_limits<std::int64_t>::max()));
    const PageLimits limits{before, static_cast<std::size_t>(page_size(size))};
    const Now now = context.now();
    JobsPage page = context.control.read([&](const State& state) {
        if (which == Which::all) {
            return take_page(state, now, state.jobs_by_number.map(), limits, wanted);
        }
        return take_page(state, now, live_numbers(state), limits, wanted);
    });
    for (pb::Job& job : page.jobs)
        RM_RETURN_IF_ERROR(add_reports(context, job));
    return page;
}

}  // namespace rm
