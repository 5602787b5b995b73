#include "controller/ops/jobs_page.h"

#include <algorithm>
#include <limits>

#include "controller/ops/views.h"

namespace rm {

Result<JobsPage> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                const std::function<bool(const Job&)>& wanted) {
    RM_TRY(const std::int64_t before,
           parse_page_token(token, std::numeric_limits<std::int64_t>::max()));
    const auto limit = static_cast<std::size_t>(page_size(size));
    JobsPage page = context.control.read([&](const State& state) {
        std::vector<const Job*> jobs;
        for (const auto& [id, job] : state.jobs) {
            if (job.number < before && wanted(job)) jobs.push_back(&job);
        }
        std::sort(jobs.begin(), jobs.end(),
                  [](const Job* a, const Job* b) { return a->number > b->number; });
        JobsPage found;
        if (jobs.size() > limit) {
            jobs.resize(limit);
            found.next_token = std::to_string(jobs.back()->number);
        }
        for (const Job* job : jobs)
            found.jobs.push_back(to_message(state, *job));
        return found;
    });
    for (pb::Job& job : page.jobs)
        RM_RETURN_IF_ERROR(add_reports(context, job));
    return page;
}

}  // namespace rm
