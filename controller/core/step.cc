#include "controller/core/step.h"

#include <algorithm>

#include "controller/core/due.h"

namespace rm {
namespace {

template <typename Map>
typename Map::mapped_type& row(Map& map, const typename Map::key_type& key) {
    const auto it = map.find(key);
    RM_CHECK(it != map.end(), "row {} does not exist", key);
    return it->second;
}

}  // namespace

void Changes::merge(const Changes& other) {
    meta = meta || other.meta;
    jobs.insert(other.jobs.begin(), other.jobs.end());
    attempts.insert(other.attempts.begin(), other.attempts.end());
    nodes.insert(other.nodes.begin(), other.nodes.end());
    profiles.insert(other.profiles.begin(), other.profiles.end());
}

void Step::record(std::string_view kind, std::string subject, std::vector<Field> fields) {
    ++state_.version;
    outcome_.events.push_back({now_, std::string(kind), std::move(subject), std::move(fields)});
}

template <typename Row>
bool Step::record_change(std::string_view event, const Row& row, const FlatRow& before) {
    std::vector<Field> fields = difference(before, flatten(row));
    const bool changed = !fields.empty();
    if (changed) record(event, subject_of(row), std::move(fields));
    return changed;
}

void Step::touch_job(const JobId& id) {
    state_.revisions[id] = state_.version;
}

void Step::enter_queue(const JobId& id) {
    state_.reasoned[id] = state_.planning_version;
    state_.queued[id] = steady_;
}

void Step::change_meta(std::string_view event, const std::function<void(State&)>& change) {
    // The founding event carries every column, like the first event of any row.
    const FlatRow before = state_.cluster.empty() ? FlatRow{} : flatten_meta(state_);
    change(state_);
    std::vector<Field> fields = difference(before, flatten_meta(state_));
    if (fields.empty()) return;
    record(event, kMetaSubject, std::move(fields));
    outcome_.changes.meta = true;
}

void Step::add_job(Job job, std::string_view event) {
    const JobId id = job.id;
    record(event, subject_of(job), difference({}, flatten(job)));
    planning_changed();
    const Job& kept = state_.jobs.emplace(id, std::move(job)).first->second;
    state_.requests[kept.request] = id;
    state_.jobs_by_number.add(kept);
    state_.live_jobs.insert(id);
    if (kept.state == JobState::pending) enter_queue(id);
    outcome_.changes.jobs.insert(id);
    touch_job(id);
}

void Step::change_job(const JobId& id, std::string_view event,
                      const std::function<void(Job&)>& change) {
    Job& job = row(state_.jobs, id);
    const FlatRow before = flatten(job);
    const JobState from = job.state;
    change(job);
    // A job ends once; only what a restore put back may turn out not to have been its end.
    const bool reopened = state_.restored.micros != 0 && job.state == JobState::starting;
    RM_CHECK(!is_terminal(from) || job.state == from || reopened, "job {} is {} and becomes {}", id,
             to_string(from), to_string(job.state));
    if (!record_change(event, job, before)) return;
    outcome_.changes.jobs.insert(id);
    touch_job(id);
    if (job.state == from) return;
    const auto queued = state_.queued.find(id);
    const Seconds waited = queued == state_.queued.end() ? Seconds{} : steady_ - queued->second;
    outcome_.transitions.push_back({id, from, job.state, waited});
    planning_changed();
    if (is_terminal(job.state)) {
        state_.live_jobs.erase(id);
    } else {
        state_.live_jobs.insert(id);
    }
    if (job.state == JobState::pending) {
        enter_queue(id);
    } else {
        state_.reasoned.erase(id);
        state_.queued.erase(id);
    }
}

void Step::add_attempt(Attempt attempt) {
    const Epoch epoch = attempt.epoch;
    const JobId job = attempt.job;
    record("attempt.created", subject_of(attempt), difference({}, flatten(attempt)));
    index_attempt(state_, attempt, steady_);
    state_.attempts.emplace(epoch, std::move(attempt));
    outcome_.changes.attempts.insert(epoch);
    look_for_commands();
    touch_job(job);
}

void Step::change_attempt(Epoch epoch, std::string_view event,
                          const std::function<void(Attempt&)>& change) {
    Attempt& attempt = row(state_.attempts, epoch);
    const FlatRow before = flatten(attempt);
    const AttemptState from = attempt.state;
    change(attempt);
    RM_CHECK(!is_terminal(from) || attempt.state == from, "attempt {} is {} and becomes {}", epoch,
             to_string(from), to_string(attempt.state));
    if (!record_change(event, attempt, before)) return;
    index_attempt(state_, attempt, steady_);
    outcome_.changes.attempts.insert(epoch);
    look_for_commands();
    touch_job(attempt.job);
}

void Step::add_node(Node node) {
    const NodeId id = node.id;
    record("node.joined", subject_of(node), difference({}, flatten(node)));
    state_.nodes.emplace(id, std::move(node));
    outcome_.changes.nodes.insert(id);
}

void Step::change_node(const NodeId& id, std::string_view event,
                       const std::function<void(Node&)>& change) {
    Node& node = row(state_.nodes, id);
    const FlatRow before = flatten(node);
    change(node);
    if (record_change(event, node, before)) outcome_.changes.nodes.insert(id);
}

void Step::put_profile(KeptProfile profile) {
    const ProfileKey key = key_of(profile.measured);
    const auto known = state_.profiles.find(key);
    const FlatRow before = known == state_.profiles.end() ? FlatRow{} : flatten(known->second);
    if (!record_change("profile.measured", profile, before)) return;
    state_.profiles.insert_or_assign(key, std::move(profile));
    outcome_.changes.profiles.insert(key);
}

void Step::change_session(const NodeId& id, const std::function<void(NodeSession&)>& change) {
    NodeSession& session = row(state_.nodes, id).session;
    change(session);
    if (session.roots.empty()) {
        state_.declaring.erase(id);
    } else {
        state_.declaring.insert(id);
    }
    look_for_commands();
    ++state_.version;
}

void Step::note(std::string_view event, std::string subject, std::vector<Field> fields) {
    RM_CHECK(is_note(event), "{} is no note", event);
    record(event, std::move(subject), std::move(fields));
}

void Step::reasons_given(const JobId& id, std::uint64_t version) {
    // The answer to a pass from before a restart carries a version from before it, too.
    state_.reasoned[id] = std::min(version, state_.planning_version);
}

void Step::heard(Epoch epoch) {
    const auto it = state_.heard.find(epoch);
    if (it != state_.heard.end()) it->second = steady_;
}

void Step::launch_failed(const NodeId& node, const JobId& job, const std::string& why) {
    state_.failed_launches[node][job] = why;
}

void Step::await_nodes() {
    state_.held_until = steady_ + kRestoreHold;
    for (const auto& [id, node] : state_.nodes)
        state_.unheard.insert(id);
    hold_planning(true);
}

void Step::reply(Result<JobId> result) {
    if (token_ == 0) return;
    outcome_.effects.insert(outcome_.effects.begin(), Reply{token_, std::move(result)});
}

void Step::send(const NodeId& node, NodeCommand question) {
    outcome_.effects.emplace_back(SendToNode{node, std::move(question)});
}

Outcome Step::finish() {
    std::vector<SendToNode> due;
    if (look_for_commands_) due = due_commands(state_, steady_);
    for (SendToNode& send : due) {
        NodeSession& session = row(state_.nodes, send.node).session;
        session.sent[command_key(send.command)] = steady_;
        outcome_.effects.emplace_back(std::move(send));
    }
    if (planning_due(state_)) {
        state_.planning_requested = state_.planning_version;
        outcome_.effects.emplace_back(RequestPlan{});
    }
    return std::move(outcome_);
}

}  // namespace rm
