#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/report.h"
#include "controller/loops/control_loop.h"
#include "controller/session.h"
#include "controller/store/survey_store.h"
#include "controller/survey/survey_core.h"

namespace rm {

// What a rank has said of one step's ring hops.
struct HopReport {
    Epoch epoch;
    int rank = 0;
    int stage = 0;
    std::int64_t step = 0;
    std::map<int, HopRate> hops;  // by rank that they came from
};

// Who wants to know. Implementations keep it and return.
class HopSink {
public:
    virtual ~HopSink() = default;
    virtual void hopped(HopReport report) = 0;
};

// What others see of surveying.
struct SurveyView {
    LinkBook book;
    SurveyProgress progress;
    std::optional<SurveyRecord> last;  // that ended since this start
    int num_nodes = 0;                 // that can be surveyed now
};

// Drives the survey core: nodes from the control state, probes to the workers' sessions, what they
// find into telemetry.db, drifts to the core; and ring hops, of nodes instead of ranks. A thread of
// its own.
class SurveyLoop final : public ProbeSink, public HopSink {
public:
    struct Parts {
        const ControlLoop& control;
        InputSink& inputs;  // hears of drifts
        SessionRegistry& sessions;
        SurveyStore& store;
        const Clock& clock;
    };
    SurveyLoop(SurveyCore core, const Parts& parts);

    Result<std::int64_t> request();  // the survey's number
    SurveyView view() const;
    // The measured links of those of `nodes` that were surveyed.
    LinkGraph graph(const std::vector<NodeId>& nodes) const;

    void probed(const NodeId& node, ProbeReport report) override;
    void hopped(HopReport report) override;

private:
    SurveyTime now() const { return {parts_.clock.wall(), parts_.clock.mono()}; }
    std::vector<SurveyNode> present_nodes() const;
    Seconds until_due() const;
    void work();
    void take_hops();
    void carry_out(const SurveyOutputs& outputs);
    void send(const ProbeCommand& command);
    void keep(const SurveyOutputs& outputs);

    const Parts parts_;
    mutable std::mutex core_mutex_;
    SurveyCore core_;
    std::optional<SurveyRecord> last_;

    std::mutex mutex_;  // of what arrives; never held while the core works
    std::vector<std::pair<NodeId, ProbeReport>> reports_;
    std::vector<HopReport> hops_;
    Loop loop_;
};

}  // namespace rm
