#include "controller/ops/jobs_page.h"

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

JobsPage take_page(const State& state, const Numbers& numbers, std::int64_t before,
                   std::size_t limit, const std::function<bool(const Job&)>& wanted) {
    JobsPage page;
    auto it = numbers.lower_bound(before);
    std::int64_t last = before;
    for (std::size_t looks = 0; it != numbers.begin(); ++looks) {
        --it;
        const Job& job = *it->second;
        const bool fits = wanted(job);
        if (looks == kMaxLooks || (fits && page.jobs.size() == limit)) {
            page.next_token = std::to_string(last);
            break;
        }
        if (fits) page.jobs.push_back(to_message(state, job));
        last = job.number;
    }
    return page;
}

}  // namespace

Result<JobsPage> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                Which which, const std::function<bool(const Job&)>& wanted) {
    RM_TRY(const std::int64_t before,
           parse_page_token(token, std::numeric_limits<std::int64_t>::max()));
    const auto limit = static_cast<std::size_t>(page_size(size));
    JobsPage page = context.control.read([&](const State& state) {
        if (which == Which::all) {
            return take_page(state, state.jobs_by_number.map(), before, limit, wanted);
        }
        return take_page(state, live_numbers(state), before, limit, wanted);
    });
    for (pb::Job& job : page.jobs)
        RM_RETURN_IF_ERROR(add_reports(context, job));
    return page;
}

}  // namespace rm
