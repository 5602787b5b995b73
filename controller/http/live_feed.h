#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/os/loop.h"
#include "controller/ops/context.h"
#include "ringmaster/v1/job.pb.h"
#include "service/http/event_feed.h"

namespace rm {

// The changes of the cluster, as server-sent events for any number of pages: one look at the state
// serves all, and none is made while no page is open. The events, as JSON:
//   job         {"job": Job}: at each change of it, without its file and its placements
//   step        {"jobId", "step": StepReport}: the last step of rank 0, several times a second at
//               most
//   evaluation  {"jobId", "evaluation": EvaluationReport}
//   suite       {"jobId", "suite": SuiteReport}: the last one
//   node        {"node": Node}, without last_seen
//   reset       messages are missing: read the lists again
class LiveFeed {
public:
    // `name` tells this controller's start from others.
    LiveFeed(OpsContext& ops, const std::string& name);

    EventFeed& feed() { return feed_; }

private:
    // The last published reports of a job.
    struct Followed {
        std::int64_t step = 0;
        std::int64_t evaluation = 0;
        std::int64_t suite = 0;
        int looks_left = 0;  // once it has ended: reports may still come
    };

    Seconds look();  // until the next
    void follow_jobs();
    void publish_job(const JobId& id);
    void publish_reports(const JobId& id, Followed& followed);
    void publish_nodes();

    OpsContext& ops_;
    EventFeed feed_;
    std::uint64_t seen_ = 0;     // count of updates
    std::uint64_t version_ = 0;  // of the state
    int look_ = 0;
    std::map<JobId, Followed> followed_;
    std::map<NodeId, std::string> nodes_;  // as last published
    Loop loop_;
};

}  // namespace rm
