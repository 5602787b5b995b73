#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "controller/core/input.h"
#include "controller/core/outcome.h"

namespace rm {

// The only writer of a State, for the length of one input. Each change of a row goes through one of
// the change_ functions, which compares the row before and after: the differences become the event;
// without any there is no event.
class Step {
public:
    Step(State& state, const Input& input)
        : state_(state), now_(input.time), steady_(input.steady), token_(input.token) {}

    const State& state() const { return state_; }
    WallTime now() const { return now_; }  // for history
    // For times that rules hold against that of the restore: now, or the restore's own time where
    // the clock has been set back since.
    WallTime since_restore() const { return std::max(now_, state_.restored); }
    WallTime steady() const { return steady_; }  // for rules

    void change_meta(std::string_view event, const std::function<void(State&)>& change);
    void add_job(Job job, std::string_view event);
    void change_job(const JobId& id, std::string_view event,
                    const std::function<void(Job&)>& change);
    void add_attempt(Attempt attempt);
    void change_attempt(Epoch epoch, std::string_view event,
                        const std::function<void(Attempt&)>& change);
    void add_node(Node node);
    void change_node(const NodeId& id, std::string_view event,
                     const std::function<void(Node&)>& change);
    // Replaces that of the same kind and driver.
    void put_profile(KeptProfile profile);
    // Session facts are not stored: no event.
    void change_session(const NodeId& id, const std::function<void(NodeSession&)>& change);

    // Measurements of roots are not stored: no event.
    void change_probes(const std::function<void(std::map<std::string, RootProbe>&)>& change) {
        change(state_.probes);
        ++state_.version;
    }

    // Survey results are kept in telemetry.db: no columns change.
    void change_links(
        const std::function<void(std::map<std::pair<NodeId, NodeId>, LinkAlarm>&)>& change) {
        change(state_.degraded_links);
        ++state_.version;
    }
    // A provider tells them again: no event.
    void change_shapes(std::map<NodeId, std::string> shapes) {
        state_.shapes = std::move(shapes);
        ++state_.version;
    }
    // Records an event for which is_note() holds.
    void note(std::string_view event, std::string subject, std::vector<Field> fields);

    // A pending job's reasons are those of a pass over this planning version. Not stored: no event.
    void reasons_given(const JobId& id, std::uint64_t version);
    // A worker has reported this attempt. Not stored: no event.
    void heard(Epoch epoch);
    // Counts the launches that a node has failed in a row. Not stored: no event.
    void launch_failed(const NodeId& node, const JobId& job, const std::string& why);
    void launch_succeeded(const NodeId& node) { state_.failed_launches.erase(node); }

    void reply(Result<JobId> result);
    // A question to a worker; what attempts need is derived in finish().
    void send(const NodeId& node, NodeCommand question);
    // Holds planning after a restore, or releases it.
    void hold_planning(bool held) { state_.planning_held = held; }
    // The tables come from a backup: planning waits for their nodes' hellos.
    void await_nodes();
    void node_heard(const NodeId& id) { state_.unheard.erase(id); }
    void planning_changed() { ++state_.planning_version; }
    // Commands may be due though no attempt and no session has changed: time has passed.
    void look_for_commands() { look_for_commands_ = true; }
    // Derives the commands and the planning that are due now and hands everything over.
    Outcome finish();

private:
    void record(std::string_view kind, std::string subject, std::vector<Field> fields);
    // False: the row is as it was before.
    template <typename Row>
    bool record_change(std::string_view event, const Row& row, const FlatRow& before);
    void touch_job(const JobId& id);
    void enter_queue(const JobId& id);

    State& state_;
    WallTime now_;
    WallTime steady_;
    std::uint64_t token_;
    // Commands follow from attempts and sessions: an input that touches neither, such as a submit,
    // does not search them.
    bool look_for_commands_ = false;
    Outcome outcome_;
};

}  // namespace rm
