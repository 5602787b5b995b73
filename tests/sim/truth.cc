#include "tests/sim/truth.h"

#include <algorithm>

namespace rm::sim {

void Truth::started(const DeviceId& device, Epoch epoch) {
    const auto [holder, fresh] = holders_.emplace(device, epoch);
    RM_CHECK(fresh, "epoch {} starts on device {}, where processes of epoch {} live", epoch, device,
             holder->second);
    Epoch& highest = highest_on_[device];
    RM_CHECK(epoch > highest, "epoch {} starts on device {}, which has seen epoch {}", epoch,
             device, highest);
    highest = epoch;
}

void Truth::ended(const DeviceId& device, Epoch epoch) {
    const auto holder = holders_.find(device);
    RM_CHECK(holder != holders_.end() && holder->second == epoch,
             "epoch {} ends on device {}, which it does not hold", epoch, device);
    holders_.erase(holder);
}

void Truth::created(const Attempt& attempt) {
    for (const RankRecord& rank : attempt.ranks) {
        const auto holder = holders_.find(rank.device);
        // This controller learns of a twin's launches only with the worker's next hello.
        RM_CHECK(holder == holders_.end() || !issued_.contains(holder->second),
                 "attempt {} is given device {}, where processes of epoch {} live", attempt.epoch,
                 rank.device, holder->second);
    }
    std::set<int> directories;
    for (const NodeId& node : attempt.nodes()) {
        if (directories_.contains(node)) directories.insert(directories_.at(node));
    }
    RM_CHECK(directories.size() < 2, "attempt {} is placed on nodes that share no checkpoints",
             attempt.epoch);
    planned_.insert(attempt.epoch);
}

void Truth::commanded(const NodeId& node, const NodeCommand& command, const State& durable) const {
    const auto attempt_of = [&](Epoch epoch) {
        const Attempt* attempt = find_attempt(durable, epoch);
        RM_CHECK(attempt != nullptr, "node {} is told of attempt {}, which is not durable", node,
                 epoch);
        return attempt;
    };
    if (const auto* launch = std::get_if<LaunchAttempt>(&command)) {
        attempt_of(launch->epoch);
    } else if (const auto* stop = std::get_if<StopAttempt>(&command)) {
        const Attempt* attempt = attempt_of(stop->epoch);
        RM_CHECK(attempt->state >= AttemptState::stopping,
                 "node {} is told to stop attempt {}, which is {} on disk", node, stop->epoch,
                 to_string(attempt->state));
    } else if (const auto* forget = std::get_if<ForgetAttempt>(&command)) {
        RM_CHECK(is_terminal(attempt_of(forget->epoch)->state),
                 "node {} is told to forget attempt {}, which lives on disk", node, forget->epoch);
    }
}

void Truth::committed(const State& durable, const Changes& changes) {
    for (const Epoch epoch : changes.attempts) {
        if (planned_.erase(epoch) == 0) continue;
        RM_CHECK(issued_.empty() || epoch > *issued_.rbegin(),
                 "epoch {} is given out after epoch {}", epoch, *issued_.rbegin());
        issued_.insert(epoch);
    }
    for (const JobId& id : changes.jobs) {
        const JobState state = durable.jobs.at(id).state;
        const auto end = ends_.find(id);
        RM_CHECK(end == ends_.end() || end->second == state, "job {} was {} and becomes {}", id,
                 to_string(end->second), to_string(state));
        if (is_terminal(state)) ends_[id] = state;
    }
}

void Truth::loaded(const State& durable) {
    planned_.clear();
    for (const auto& [request, job] : acknowledged_) {
        RM_CHECK(durable.jobs.contains(job), "request {} was answered with job {}, which is lost",
                 request, job);
    }
}

void Truth::restored(const State& durable) {
    planned_.clear();
    publishing_.clear();
    std::erase_if(acknowledged_,
                  [&](const auto& entry) { return !durable.jobs.contains(entry.second); });
    std::erase_if(ends_, [&](const auto& entry) {
        const Job* job = find_job(durable, entry.first);
        return job == nullptr || !is_terminal(job->state);
    });
}

void Truth::adopted(const Hello& hello, const State& state) const {
    for (const LaunchAttempt& launch : hello.launches) {
        const auto status =
            std::find_if(hello.attempts.begin(), hello.attempts.end(),
                         [&](const AttemptStatus& s) { return s.epoch == launch.epoch; });
        if (status == hello.attempts.end() || !status->processes_left) continue;
        if (!issued_.contains(launch.epoch)) continue;  // a twin's
        RM_CHECK(find_attempt(state, launch.epoch) != nullptr,
                 "attempt {} runs on {} and was not taken over after the restore", launch.epoch,
                 hello.node);
    }
}

void Truth::acknowledged(const RequestId& request, const JobId& job, const State& durable) {
    RM_CHECK(durable.jobs.contains(job), "request {} is answered with job {}, which is not durable",
             request, job);
    const auto [known, fresh] = acknowledged_.emplace(request, job);
    RM_CHECK(fresh || known->second == job, "request {} is job {} and then job {}", request,
             known->second, job);
}

void Truth::says_highest(const NodeId& node, Epoch highest) const {
    const auto known = highest_of_.find(node);
    RM_CHECK(known == highest_of_.end() || highest >= known->second,
             "node {} says that its highest epoch is {}, it was {}", node, highest, known->second);
}

void Truth::remembers_highest(const NodeId& node, Epoch highest) {
    says_highest(node, highest);
    highest_of_[node] = highest;
}

Checkpoint Truth::newest(const JobId& job) const {
    const auto written = checkpoints_.find(job);
    if (written == checkpoints_.end()) return {};
    return *std::max_element(written->second.begin(), written->second.end());
}

void Truth::checkpoint(const JobId& job, const Checkpoint& parent, const Checkpoint& written) {
    RM_CHECK(parent.step == 0 || written.epoch > parent.epoch,
             "epoch {} extends a checkpoint of epoch {}", written.epoch, parent.epoch);
    RM_CHECK(written.tokens - parent.tokens == written.step - parent.step,
             "checkpoint e{}-s{} of job {} has seen {} tokens from e{}-s{} with {}", written.epoch,
             written.step, job, written.tokens, parent.epoch, parent.step, parent.tokens);
    for (const Checkpoint& other : checkpoints_[job]) {
        RM_CHECK(other.epoch != written.epoch || other.step != written.step || other == written,
                 "checkpoint e{}-s{} of job {} is written twice", written.epoch, written.step, job);
    }
    checkpoints_[job].push_back(written);
}

void Truth::may_publish(const JobId& job, Epoch epoch) {
    for (const auto& [other, of] : publishing_) {
        RM_CHECK(of != job || other == epoch, "attempts {} and {} of job {} may both publish",
                 other, epoch, job);
    }
    publishing_[epoch] = job;
}

void Truth::published(const JobId& job, Epoch epoch) {
    Epoch& newest = published_[job];
    RM_CHECK(epoch >= newest, "attempt {} of job {} publishes over attempt {}", epoch, job, newest);
    newest = epoch;
}

}  // namespace rm::sim
