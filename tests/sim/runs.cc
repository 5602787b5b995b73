#include "tests/sim/runs.h"

#include <algorithm>

namespace rm::sim {
namespace {

constexpr int kCheckpointEvery = 4;
constexpr int kPatience = 6;  // refusals of an export before it gives up

bool all_healthy(const std::vector<Seat>& seats) {
    return std::all_of(seats.begin(), seats.end(),
                       [](const Seat& seat) { return seat.rank->healthy(); });
}
bool any_dead(const std::vector<Seat>& seats) {
    return std::any_of(seats.begin(), seats.end(),
                       [](const Seat& seat) { return !seat.rank->alive; });
}
bool any_asked_to_stop(const std::vector<Seat>& seats) {
    return std::any_of(seats.begin(), seats.end(),
                       [](const Seat& seat) { return seat.shim->stop_asked; });
}

}  // namespace

std::vector<Seat> Runs::seats(Epoch epoch) const {
    std::vector<Seat> seats;
    for (const auto& worker : parts_.workers) {
        const auto shim = worker->shims().find(epoch);
        if (shim == worker->shims().end()) continue;
        for (SimRank& rank : shim->second.ranks)
            seats.push_back({worker.get(), &shim->second, &rank});
    }
    return seats;
}

std::vector<Seat> Runs::living() const {
    std::vector<Seat> living;
    for (const auto& [epoch, run] : runs_) {
        for (const Seat& seat : seats(epoch)) {
            if (seat.rank->alive) living.push_back(seat);
        }
    }
    return living;
}

void Runs::launched(const LaunchAttempt& launch) {
    Run& run = runs_[launch.epoch];
    run.launch = launch;
    run.moved = sim_.now();
    if (run.ticking) return;
    run.ticking = true;
    sim_.after(sim_.between(0.2, 2), [this, epoch = launch.epoch] { tick(epoch); });
}

void Runs::tick(Epoch epoch) {
    Run& run = runs_.at(epoch);
    const std::vector<Seat> present = seats(epoch);
    run.ticking = std::any_of(present.begin(), present.end(),
                              [](const Seat& seat) { return seat.rank->alive; });
    if (!run.ticking) return parts_.truth.cannot_publish_any_more(epoch);
    sim_.after(sim_.between(0.5, 1.5), [this, epoch] { tick(epoch); });

    const bool complete =
        static_cast<int>(present.size()) == run.launch.plan.mesh.num_ranks() && !any_dead(present);
    const bool late = sim_.now() - run.moved > run.launch.plan.collective_timeout.value;
    if (!complete && !run.met && !any_dead(present) && !late) {
        if (any_asked_to_stop(present)) exit_all(present, kRankStopped, "");
        return;
    }
    if (!complete) return lose_peers(present);
    wait_for_the_sick(present);
    if (!all_healthy(present) || !hear_each_other(present)) {
        if (late) lose_peers(present);
    } else if (run.granted) {
        return;
    } else if (any_asked_to_stop(present)) {
        if (run.met) write_checkpoint(run, present);
        exit_all(present, kRankStopped, "");
    } else if (!run.met) {
        meet(run, present);
    } else {
        advance(run, present);
    }
}

void Runs::lose_peers(const std::vector<Seat>& seats) {
    for (const Seat& seat : seats) {
        if (!seat.rank->healthy() || sim_.chance(0.4)) continue;
        seat.worker->exit_rank(*seat.shim, *seat.rank, kRankLostPeer, 0, "lost a peer");
    }
}

void Runs::wait_for_the_sick(const std::vector<Seat>& seats) {
    const auto sick = std::find_if(seats.begin(), seats.end(),
                                   [](const Seat& seat) { return !seat.rank->healthy(); });
    const int waited_for = sick == seats.end() ? -1 : sick->rank->rank;
    for (const Seat& seat : seats)
        seat.rank->waits_for = seat.rank->healthy() ? waited_for : -1;
}

bool Runs::hear_each_other(const std::vector<Seat>& seats) const {
    std::set<NodeId> nodes;
    bool cut = false;
    for (const Seat& seat : seats) {
        nodes.insert(seat.worker->id());
        cut = cut || data_cuts_.contains(std::stoi(seat.worker->id().value.substr(1)));
    }
    return nodes.size() == 1 || !cut;
}

void Runs::meet(Run& run, const std::vector<Seat>& seats) {
    // Addresses are exchanged through the controller.
    for (const Seat& seat : seats) {
        if (!parts_.controller.up() || !seat.worker->in_session()) return;
    }
    run.met = true;
    run.moved = sim_.now();
    run.parent = run.now = parts_.truth.newest(run.launch.job);
    run.now.epoch = run.launch.epoch;
    run.written = run.parent.step;
    sim_.say("epoch {} goes on from e{}-s{}", run.launch.epoch, run.parent.epoch, run.parent.step);
}

void Runs::advance(Run& run, const std::vector<Seat>& seats) {
    const bool done = run.now.step >= run.launch.spec.num_steps();
    run.moved = sim_.now();
    if (!done) {
        ++run.now.step;
        ++run.now.tokens;
    }
    for (const Seat& seat : seats) {
        if (seat.shim->changed < sim_.now()) {
            seat.worker->progress(*seat.shim, run.now.step, done ? "export" : "step");
        }
    }
    if (done) return finish(run, seats);
    if (run.now.step - run.written >= kCheckpointEvery) write_checkpoint(run, seats);
}

void Runs::write_checkpoint(Run& run, const std::vector<Seat>& seats) {
    if (run.now.step == run.written) return;
    parts_.truth.checkpoint(run.launch.job, run.parent, run.now);
    run.written = run.now.step;
    for (const Seat& seat : seats) {
        if (seat.rank->rank != 0) continue;
        seat.shim->checkpoint_step = run.now.step;
        seat.shim->checkpoint_path =
            format("{}/e{}-s{}", run.launch.checkpoint_dir, run.launch.epoch, run.now.step);
    }
}

void Runs::finish(Run& run, const std::vector<Seat>& seats) {
    write_checkpoint(run, seats);
    if (run.launch.spec.exports.huggingface.empty()) return exit_all(seats, kRankFinished, "");
    if (!run.asking) ask_to_publish(run);
}

void Runs::ask_to_publish(Run& run) {
    run.asking = true;
    const Epoch epoch = run.launch.epoch;
    sim_.after(sim_.between(0.01, 0.5), [this, epoch] {
        parts_.controller.post(AskToPublish{epoch}, [this, epoch](const Result<JobId>& answer) {
            if (sim_.chance(0.05)) return;  // the answer is lost; it asks again
            sim_.after(sim_.between(0.01, 0.5), [this, epoch, answer] { answered(epoch, answer); });
        });
    });
    sim_.after(3, [this, epoch] { runs_.at(epoch).asking = false; });
}

void Runs::answered(Epoch epoch, const Result<JobId>& answer) {
    Run& run = runs_.at(epoch);
    const std::vector<Seat> present = seats(epoch);
    if (run.granted || present.empty() || any_dead(present)) return;
    if (answer) {
        sim_.say("epoch {} may publish", epoch);
        parts_.truth.may_publish(run.launch.job, epoch);
        run.granted = true;
        return sim_.after(sim_.between(0.5, 4), [this, epoch] { publish(epoch); });
    }
    sim_.say("epoch {} may not publish: {}", epoch, answer.error().message);
    if (answer.error().code == ErrorCode::unavailable) return;  // it asks again
    if (++run.refusals < kPatience) return;
    exit_all(present, kRankFailed, "the export may not be published");
}

void Runs::publish(Epoch epoch) {
    const std::vector<Seat> present = seats(epoch);
    const Run& run = runs_.at(epoch);
    const auto first = std::find_if(present.begin(), present.end(),
                                    [](const Seat& seat) { return seat.rank->rank == 0; });
    if (first == present.end() || !first->rank->alive) return;
    if (!first->rank->healthy()) {
        return sim_.after(1, [this, epoch] { publish(epoch); });
    }
    parts_.truth.published(run.launch.job, epoch);
    exit_all(present, kRankFinished, "");
}

void Runs::exit_all(const std::vector<Seat>& seats, int code, const std::string& words) {
    for (const Seat& seat : seats) {
        if (seat.rank->healthy()) seat.worker->exit_rank(*seat.shim, *seat.rank, code, 0, words);
    }
}

}  // namespace rm::sim
