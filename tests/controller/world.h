#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/core/apply.h"
#include "tests/controller/event_log.h"

// A State under test: every input also checks all invariants and folds the events.
namespace rm::test {

inline JobSpec small_spec(std::optional<Mesh> parallel = std::nullopt) {
    JobSpec spec;
    spec.name = "small";
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    spec.stages = {StageSpec{.context = 8192, .batch = 8192, .tokens = 81920}};
    spec.parallel = parallel;
    spec.retry.max = 0;  // the first failure is the last
    return spec;
}
inline JobSpec retried_spec(int max = 3, std::optional<Mesh> parallel = std::nullopt) {
    JobSpec spec = small_spec(parallel);
    spec.retry.max = max;
    return spec;
}

inline Mesh ring(int size) {
    return Mesh::make(1, size, 1, 1).value();
}

inline Hello hello_of(const std::string& node, int num_devices,
                      std::vector<AttemptStatus> attempts = {}) {
    Hello hello;
    hello.node = {node};
    hello.build = "build-1";
    hello.boot_id = "boot-1";
    hello.inventory.hostname = "host-" + node;
    for (int i = 0; i < num_devices; ++i) {
        hello.inventory.devices.push_back({.index = i, .kind = "cpu"});
    }
    hello.attempts = std::move(attempts);
    return hello;
}

class World {
public:
    State state;
    Tables folded;
    WallTime now{1'000'000'000};
    Seconds clock_error;  // of the wall clock, after it was set

    World() { apply(FoundCluster{{"cluster-1"}}); }

    Outcome apply(InputBody body, std::uint64_t token = 0) {
        now.micros += 1000;
        Outcome outcome = rm::apply(
            state,
            {.time = now + clock_error, .token = token, .body = std::move(body), .steady = now});
        for (const AuditEvent& event : outcome.events)
            fold(folded, event);
        check_invariants(state);
        return outcome;
    }

    // The controller starts with tables restored from a backup.
    Outcome restore(const State& tables) {
        state = tables;
        rebuild_indexes(state, now);
        folded = flatten_tables(state);
        return apply(Restored{});
    }
    // Advances the clock and lets the state act on it.
    Outcome wait(Seconds time) {
        now = now + time;
        return apply(CommandsDue{});
    }
    JobId submit(const JobSpec& spec, const std::string& request = "") {
        const std::string id = request.empty() ? format("r{}", state.jobs.size()) : request;
        const Outcome outcome = apply(SubmitJob{{id}, spec, "yaml", state.jobs.size() + 1}, 7);
        return std::get<Reply>(outcome.effects.front()).result.value();
    }
    Outcome hello(const std::string& node, int num_devices,
                  std::vector<AttemptStatus> attempts = {}) {
        return apply(NodeHello{hello_of(node, num_devices, std::move(attempts))});
    }
    // Plans a job on the first devices of the named nodes, one each.
    Outcome plan(const JobId& id, const std::vector<std::string>& nodes) {
        Plan plan{.mesh = ring(static_cast<int>(nodes.size())),
                  .memory = resolve_memory(job(id).spec.memory)};
        for (const std::string& node : nodes)
            plan.placement.push_back({{node}, 0});
        return apply(PlanReady{id, state.planning_version, plan});
    }
    Outcome session_down(const std::string& node) { return apply(NodeSessionDown{{node}}); }
    Epoch epoch_of(const JobId& job) const { return newest_attempt(state, job)->epoch; }
    const Job& job(const JobId& id) const { return state.jobs.at(id); }
    const Attempt& attempt(const JobId& id) const { return *newest_attempt(state, id); }
    std::string reason(const JobId& id) const {
        return to_string(job(id).blocking_reasons.front());
    }
    Outcome status(const std::string& node, AttemptStatus status) {
        return apply(NodeStatus{{node}, std::move(status)});
    }
};

// The texts of the reasons against a plan.
inline std::vector<std::string> texts_of(const std::variant<Plan, Reasons>& decision) {
    std::vector<std::string> texts;
    for (const Reason& reason : std::get<Reasons>(decision))
        texts.push_back(to_string(reason));
    return texts;
}

inline RankStatus training(int rank) {
    return {.rank = rank, .running = true, .training = true};
}
inline RankStatus ended(int rank, int code, std::string error = "", std::int64_t order = 0) {
    return {.rank = rank,
            .training = true,
            .exited = true,
            .exit_code = code,
            .error = std::move(error),
            .exit_order_mono_nanos = order};
}
enum class Left { yes, no };
inline AttemptStatus status_of(Epoch epoch, const JobId& job, std::vector<RankStatus> ranks,
                               Left left) {
    return {
        .epoch = epoch, .job = job, .ranks = std::move(ranks), .processes_left = left == Left::yes};
}

template <typename T>
std::vector<T> commands(const Outcome& outcome) {
    std::vector<T> found;
    for (const Effect& effect : outcome.effects) {
        const auto* send = std::get_if<SendToNode>(&effect);
        if (send == nullptr) continue;
        if (const auto* command = std::get_if<T>(&send->command)) found.push_back(*command);
    }
    return found;
}
inline Result<JobId> reply(const Outcome& outcome) {
    RM_CHECK(!outcome.effects.empty(), "there is no reply");
    return std::get<Reply>(outcome.effects.front()).result;
}
inline bool asks_for_plan(const Outcome& outcome) {
    for (const Effect& effect : outcome.effects) {
        if (std::holds_alternative<RequestPlan>(effect)) return true;
    }
    return false;
}

}  // namespace rm::test
