#include <algorithm>

#include "tests/sim/worker.h"

// The shims of one node: they start ranks, stop them and keep their exits.
namespace rm::sim {

void SimWorker::start_shim(const LaunchAttempt& launch) {
    sim_.say("{} starts a shim of epoch {}", id_, launch.epoch);
    RM_CHECK(!shims_.contains(launch.epoch), "epoch {} has a directory on {}", launch.epoch, id_);
    SimShim& shim = shims_[launch.epoch];
    shim.launch = launch;
    shim.changed = sim_.now();
    for (const RankLaunch& rank : launch.ranks) {
        parts_.truth.started({id_, rank.device}, launch.epoch);
        shim.ranks.push_back({.rank = rank.rank, .device = rank.device});
    }
    parts_.on_launch(launch);
}

void SimWorker::obey(const StopAttempt& stop) {
    const auto shim = shims_.find(stop.epoch);
    if (shim == shims_.end() || !shim->second.live) return;
    const bool now = stop.mode == StopMode::now;
    sim_.say("{} stops {} {}", id_, stop.epoch, now ? "now" : "gracefully");
    shim->second.stop_asked = true;
    const double patience = now ? sim_.between(0, 1) : stop.grace.value;
    // The shim outlives its daemon, so this timer does too.
    sim_.after(patience, [this, epoch = stop.epoch, now] {
        kill_ranks(epoch, now ? "told to stop at once" : "it did not stop within its grace");
    });
}

void SimWorker::obey(const ForgetAttempt& forget) {
    const auto shim = shims_.find(forget.epoch);
    if (shim == shims_.end()) return;
    RM_CHECK(!shim->second.live, "{} forgets epoch {}, whose processes live", id_, forget.epoch);
    shims_.erase(shim);
}

void SimWorker::kill_ranks(Epoch epoch, const std::string& why) {
    const auto shim = shims_.find(epoch);
    if (shim == shims_.end() || !shim->second.live) return;
    for (SimRank& rank : shim->second.ranks) {
        if (rank.alive) exit_rank(shim->second, rank, 0, 9, why);
    }
}

void SimWorker::exit_rank(SimShim& shim, SimRank& rank, int code, int signal, std::string error) {
    sim_.say("rank {} of {} on {} exits: {} {} {}", rank.rank, shim.launch.epoch, id_, code, signal,
             error);
    rank.alive = false;
    rank.recorded = true;
    rank.code = code;
    rank.signal = signal;
    rank.error = std::move(error);
    rank.exit_order = ++exits_;
    const bool any = std::any_of(shim.ranks.begin(), shim.ranks.end(),
                                 [](const SimRank& other) { return other.alive; });
    if (any) return;
    sim_.after(sim_.between(0, 2), [this, epoch = shim.launch.epoch] {
        const auto found = shims_.find(epoch);
        if (found != shims_.end()) end_shim(found->second);
    });
}

void SimWorker::kill_shim(SimShim& shim) {
    for (SimRank& rank : shim.ranks)
        rank.alive = false;
    end_shim(shim);
}

void SimWorker::end_shim(SimShim& shim) {
    if (!shim.live) return;
    sim_.say("nothing of {} is left on {}", shim.launch.epoch, id_);
    shim.live = false;
    for (const SimRank& rank : shim.ranks)
        parts_.truth.ended({id_, rank.device}, shim.launch.epoch);
}

void SimWorker::progress(SimShim& shim, std::int64_t step, const std::string& phase) {
    if (shim.step > 0) shim.longest_quiet = std::max(shim.longest_quiet, sim_.now() - shim.changed);
    shim.step = step;
    shim.phase = phase;
    shim.changed = sim_.now();
}

}  // namespace rm::sim
