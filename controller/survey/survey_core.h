#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/survey/address_run.h"
#include "controller/survey/hop_watch.h"
#include "controller/survey/link_book.h"
#include "controller/survey/survey_run.h"

// Decides when to measure links. A pure state machine: takes nodes, requests, reports and time;
// returns probes to run and survey results.
namespace rm {

struct SurveyOptions {
    double budget = 0.05;   // of a job's time, while probes touch its nodes; 0: jobs are left alone
    bool automatic = true;  // when nodes join, on drift, when ring hops have become slow and every
                            // `every`; false: on request only
    Seconds settle{10};     // after the last join
    Seconds every{6 * 3600};
    Seconds after_drift{60};  // until another survey checks whether it lasts
    SurveyLimits limits;
    AddressLimits addresses;
};

struct SurveyTime {
    WallTime wall;
    MonoTime mono;
};

// `to` expects the probe, `from` runs it; the sender of both commands draws the nonce.
struct ProbeCommand {
    std::uint64_t id = 0;
    ProbeKind kind = ProbeKind::link;
    SurveyNode from;
    SurveyNode to;
    int streams = 0;
    Seconds each;
};

// One answered probe of a link, for the history.
struct LinkSample {
    std::int64_t survey = 0;
    WallTime time;
    LinkEnds ends;
    int beside = 0;  // links measured at the same time
    ProbeReport report;
};

struct SurveyRecord {
    std::int64_t number = 0;
    std::string reason;
    WallTime started;
    WallTime ended;
    int num_nodes = 0;
    int num_links = 0;                // measured
    int num_failed = 0;               // probes without an answer or with an error
    std::vector<std::string> errors;  // messages of the first few
};

struct SurveyOutputs {
    std::vector<ProbeCommand> commands;
    std::vector<LinkSample> samples;
    std::optional<SurveyRecord> finished;
    std::vector<LinkDrift> drifts;       // of the survey that finished
    std::vector<AddressChoice> choices;  // once per survey: from now on it probes there
};

struct SurveyProgress {
    std::int64_t running = 0;  // its number; 0: none
    std::int64_t last = 0;     // the last to finish
    bool pending = false;      // one is requested
    std::size_t steps_done = 0;
    std::size_t steps_known = 0;
    bool waits_for_budget = false;
};

// Limits the share of time in which probes disturb a job: after a probe that took d, the job's
// nodes are left alone for d (1/budget - 1).
class Pacer {
public:
    // 0: jobs are not disturbed at all. 1: whenever wanted.
    explicit Pacer(double budget) : budget_(budget) {}

    bool forbids(const std::set<std::string>& jobs) const { return budget_ <= 0 && !jobs.empty(); }
    // The earliest time at which a probe may touch all of these jobs, which may have passed.
    MonoTime earliest(const std::set<std::string>& jobs) const;
    void used(const std::set<std::string>& jobs, MonoTime start, MonoTime end);

private:
    const double budget_;
    std::map<std::string, MonoTime> rest_until_;
};

class SurveyCore {
public:
    // Continues from the stored book and the number of the last survey.
    SurveyCore(SurveyOptions options, LinkBook book, std::int64_t last_survey);

    // Sets the nodes that can be probed now, in order of registration.
    void set_nodes(std::vector<SurveyNode> nodes, SurveyTime now);
    // Returns the number of the survey that will answer: a new one, since the running one began
    // earlier. FAILED_PRECONDITION with fewer than two nodes.
    Result<std::int64_t> request(const std::string& reason, SurveyTime now);
    // Takes a ring hop that a live attempt measured. Slow hops only request a survey: only surveys
    // raise alarms.
    void take(const HopSample& sample, SurveyTime now);
    void set_live(const std::set<Epoch>& attempts) { hops_.keep_only(attempts); }
    SurveyOutputs take(const NodeId& from, const ProbeReport& report, SurveyTime now);
    // Performs the actions that are due; call it at due() at the latest.
    SurveyOutputs tick(SurveyTime now);
    MonoTime due() const;

    const LinkBook& book() const { return book_; }
    const std::vector<SurveyNode>& nodes() const { return nodes_; }
    SurveyProgress progress() const;

private:
    struct Want {
        std::string reason;
        MonoTime from;
    };
    struct Probe {
        std::size_t task = 0;
        NodeId from;
    };

    void want(const std::string& reason, MonoTime from);
    void begin_survey(SurveyTime now);
    void begin_step(SurveyTime now, SurveyOutputs& out);
    void end_step(SurveyTime now, SurveyOutputs& out);
    std::optional<SurveyStep> next_step(SurveyOutputs& out);
    SurveyNode target_of(const ProbeTask& task, const SurveyNode& to) const;
    void keep_samples(SurveyTime now, SurveyOutputs& out) const;
    void skip_empty_steps(SurveyTime now, SurveyOutputs& out);
    void finish(SurveyTime now, SurveyOutputs& out);
    const SurveyNode* present(int index) const;
    std::set<std::string> jobs_of(const SurveyStep& step) const;
    void fail(std::size_t task, std::string error);

    const SurveyOptions options_;
    LinkBook book_;
    std::vector<SurveyNode> nodes_;
    std::set<NodeId> seen_;  // present at the last survey, or joined before it began
    Pacer pacer_;
    HopWatch hops_;
    std::optional<Want> want_;
    std::int64_t number_;
    std::uint64_t last_probe_ = 0;
    std::optional<MonoTime> last_ended_;
    // State of the running survey:
    std::optional<AddressRun> addresses_;  // its first part
    std::size_t address_steps_ = 0;        // done
    std::map<NodeId, std::string> chosen_;
    std::optional<SurveyRun> run_;
    SurveyRecord record_;
    SurveyStep step_;
    std::vector<ProbeReport> reports_;
    std::map<std::uint64_t, Probe> asked_;  // the step's unanswered probes
    std::map<NodeId, int> unanswered_;      // by sender: probes in a row
    MonoTime step_began_;
    MonoTime deadline_;
    bool in_step_ = false;
    MonoTime next_step_;  // earliest start, to keep the budget
    bool waits_for_budget_ = false;
};

}  // namespace rm
