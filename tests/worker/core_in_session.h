#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <vector>

#include "worker/core/worker_core.h"

// A worker's core without a worker: its facts, what it is told, and what it puts out.
namespace rm {

inline WorkerFacts facts_with(int num_devices) {
    WorkerFacts facts{.node = {"n1"}, .cluster = {"c1"}, .highest_epoch = {4}, .build = "b"};
    for (int i = 0; i < num_devices; ++i)
        facts.inventory.devices.push_back({.index = i});
    return facts;
}

inline LaunchAttempt launch_of(std::int64_t epoch, std::vector<RankLaunch> ranks) {
    return {.epoch = {epoch}, .job = {"abc123"}, .ranks = std::move(ranks)};
}

inline AttemptStatus live(std::int64_t epoch, int device) {
    return {.epoch = {epoch},
            .job = {"abc123"},
            .ranks = {{.rank = 0, .device = device, .running = true}},
            .processes_left = true};
}

inline AttemptStatus ended(std::int64_t epoch, int device) {
    AttemptStatus status = live(epoch, device);
    status.ranks[0].running = false;
    status.ranks[0].exited = true;
    status.processes_left = false;
    return status;
}

// Null: the output holds another type.
template <typename T>
const T* value_in(const WorkerOutput& output) {
    if constexpr (std::is_constructible_v<WorkerCommand, T>) {
        const auto* command = std::get_if<WorkerCommand>(&output);
        return command != nullptr ? std::get_if<T>(command) : nullptr;
    } else {
        return std::get_if<T>(&output);
    }
}

template <typename T>
std::vector<T> all_of(const std::vector<WorkerOutput>& outputs) {
    std::vector<T> found;
    for (const auto& output : outputs) {
        if (const T* value = value_in<T>(output)) found.push_back(*value);
    }
    return found;
}

template <typename T>
std::vector<T> sent(const std::vector<WorkerOutput>& outputs) {
    std::vector<T> found;
    for (const SendMessage& output : all_of<SendMessage>(outputs)) {
        if (const auto* value = std::get_if<T>(&output.message)) found.push_back(*value);
    }
    return found;
}

template <typename T>
std::size_t first(const std::vector<WorkerOutput>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (value_in<T>(outputs[i]) != nullptr) return i;
    }
    return outputs.size();
}

class CoreInSession : public ::testing::Test {
protected:
    void start(WorkerFacts facts) {
        core_.emplace(std::move(facts));
        core_->apply(SessionUp{});
        receive(HelloReply{.cluster = {"c1"}});
    }
    std::vector<WorkerOutput> receive(ControllerMessage message) {
        return core_->apply(Received{std::move(message)});
    }
    std::vector<WorkerOutput> observe(AttemptStatus status, double seconds = 0) {
        return core_->apply(
            ShimObserved{std::move(status), {static_cast<std::int64_t>(seconds * 1e9)}});
    }
    std::optional<WorkerCore> core_;
};

}  // namespace rm
