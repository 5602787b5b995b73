#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/loop.h"
#include "controller/loops/control_loop.h"
#include "controller/session.h"
#include "controller/store/survey_store.h"
#include "controller/survey/survey_core.h"
#include "spec/report.h"

namespace rm {

// One rank's report of one step's ring hops.
struct HopReport {
    Epoch epoch;
    int rank = 0;
    int stage = 0;
    std::int64_t step = 0;
    std::map<int, HopRate> hops;  // by the rank they came from
};

// The nodes that can be probed now, in order of registration, each with the jobs that have ranks on
// it and the nodes to which those ranks send.
std::vector<SurveyNode> survey_nodes(const State& state);

// A copy of the surveying state for readers.
struct SurveyView {
    LinkBook book;
    SurveyProgress progress;
    std::optional<SurveyRecord> last;  // the last to end since this start
    int num_nodes = 0;                 // nodes that can be surveyed now
};

// Drives the survey core on a thread of its own: takes nodes from the control state, sends probes
// to the workers' sessions, stores results in telemetry.db, reports drifts to the control core, and
// maps ring hops from ranks to nodes.
class SurveyLoop {
public:
    struct Parts {
        const ControlLoop& control;
        InputSink& inputs;  // receives drifts
        SessionRegistry& sessions;
        SurveyStore& store;
        const Clock& clock;
    };
    SurveyLoop(SurveyCore core, const Parts& parts);

    Result<std::int64_t> request();  // the survey's number
    SurveyView view() const;
    // The measured links between the surveyed ones of `nodes`.
    LinkGraph graph(const std::vector<NodeId>& nodes) const;

    // Both store the report and return at once.
    void probed(const NodeId& node, ProbeReport report);
    void hopped(HopReport report);

private:
    SurveyTime now() const { return {parts_.clock.wall(), parts_.clock.mono()}; }
    std::vector<SurveyNode> present_nodes() const;
    Seconds until_due() const;
    Seconds work();
    void take_hops();
    void carry_out(const SurveyOutputs& outputs);
    void send(const ProbeCommand& command);
    void keep(const SurveyOutputs& outputs);

    const Parts parts_;
    mutable std::mutex core_mutex_;
    SurveyCore core_;
    std::optional<SurveyRecord> last_;

    std::mutex mutex_;  // guards what arrives; never held while the core works
    std::vector<std::pair<NodeId, ProbeReport>> reports_;
    std::vector<HopReport> hops_;
    Loop loop_;
};

}  // namespace rm
