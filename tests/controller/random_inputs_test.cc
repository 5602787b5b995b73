#include <algorithm>

#include "base/random.h"
#include "controller/core/planning.h"
#include "controller/plan_trivial.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

constexpr int kNodes = 4;
constexpr int kDevices = 2;

// Workers that do, late and in any order, what a controller tells them. Every choice comes from one
// seed; World checks the invariants after each input.
class Simulation {
public:
    explicit Simulation(std::uint64_t seed) : rng_(seed) {}

    void run(int num_inputs) {
        for (int i = 0; i < num_inputs; ++i)
            turn();
        EXPECT_EQ(world_.folded, flatten_tables(world_.state)) << "folding gives the tables";
        settle();
    }
    const World& world() const { return world_; }

private:
    struct Worker {
        bool up = false;
        std::map<Epoch, AttemptStatus> attempts;
    };

    static std::string name(std::size_t node) { return format("n{}", node); }

    void take(const Outcome& outcome) {
        for (const Effect& effect : outcome.effects) {
            const auto* send = std::get_if<SendToNode>(&effect);
            if (send == nullptr) continue;
            Worker& worker = workers_[static_cast<std::size_t>(send->node.value[1] - '0')];
            EXPECT_TRUE(worker.up) << "a command for a node without a session";
            std::visit([&](const auto& command) { obey(worker, command); }, send->command);
        }
    }
    void obey(Worker& worker, const LaunchAttempt& launch) {
        AttemptStatus& status = worker.attempts[launch.epoch];
        if (!status.ranks.empty()) return;
        status = {.epoch = launch.epoch, .job = launch.job, .processes_left = true};
        for (const RankLaunch& rank : launch.ranks) {
            status.ranks.push_back({.rank = rank.rank, .device = rank.device, .running = true});
        }
    }
    void obey(Worker& worker, const StopAttempt& stop) {
        const auto it = worker.attempts.find(stop.epoch);
        if (it == worker.attempts.end()) {
            worker.attempts[stop.epoch] = {.epoch = stop.epoch, .job = job_of(stop.epoch)};
            return;
        }
        for (RankStatus& rank : it->second.ranks)
            end_rank(rank, kRankStopped, 0);
        it->second.processes_left = false;
    }
    void obey(Worker& worker, const ForgetAttempt& forget) { worker.attempts.erase(forget.epoch); }

    JobId job_of(Epoch epoch) { return find_attempt(world_.state, epoch)->job; }

    void end_rank(RankStatus& rank, int code, int signal) {
        if (rank.exited) return;
        rank.running = false;
        rank.exited = true;
        rank.exit_code = code;
        rank.exit_signal = signal;
        rank.exit_order_mono_nanos = ++order_;
        if (code != 0 && code != kRankStopped) rank.error = format("words {}", order_);
    }

    void turn() {
        const std::size_t node = rng_.below(kNodes);
        switch (rng_.below(12)) {
            case 0:
                return submit();
            case 1:
                return cancel();
            case 2:
            case 3:
                return workers_[node].up ? session_down(node) : session_up(node);
            case 4:
                return take(world_.apply(CommandsDue{}));
            case 5:
                world_.now.micros += 15'000'000;
                return take(world_.apply(NodeUnreachable{{name(node)}}));
            case 6:
                return schedule();
            default:
                return live(node);
        }
    }

    void submit() {
        JobSpec spec = small_spec();
        if (rng_.below(2) == 0) spec.parallel = ring(static_cast<int>(1 + rng_.below(4)));
        const std::uint64_t request = rng_.below(40);
        take(world_.apply(SubmitJob{{format("r{}", request)}, spec, "", rng_()}, 1));
    }
    void cancel() {
        if (world_.state.jobs.empty()) return;
        auto it = world_.state.jobs.begin();
        std::advance(it, rng_.below(world_.state.jobs.size()));
        const StopMode mode = rng_.below(2) == 0 ? StopMode::now : StopMode::graceful;
        take(world_.apply(CancelJob{it->first, mode}, 1));
    }
    void session_up(std::size_t node) {
        std::vector<AttemptStatus> attempts;
        for (const auto& [epoch, status] : workers_[node].attempts)
            attempts.push_back(status);
        workers_[node].up = true;
        take(world_.hello(name(node), kDevices, attempts));
    }
    void session_down(std::size_t node) {
        workers_[node].up = false;
        take(world_.apply(NodeSessionDown{{name(node)}}));
    }
    void schedule() {
        const PlanningSnapshot snapshot = planning_snapshot(world_.state, world_.now);
        for (PlanDecision& decision : plan_trivially(snapshot)) {
            take(world_.apply(PlanReady{decision.job, snapshot.version, decision.decision}));
            if (rng_.below(4) == 0) live(rng_.below(kNodes));
        }
        for (const PlanningJob& job : snapshot.pending) {
            EXPECT_TRUE(world_.job(job.id).state != JobState::pending ||
                        !world_.job(job.id).blocking_reasons.empty());
        }
    }
    // One attempt on the node gets on with it, and says so if there is a session.
    void live(std::size_t node) {
        Worker& worker = workers_[node];
        if (worker.attempts.empty()) return;
        auto it = worker.attempts.begin();
        std::advance(it, rng_.below(worker.attempts.size()));
        progress(it->second);
        if (worker.up) take(world_.status(name(node), it->second));
    }
    void progress(AttemptStatus& status) {
        for (RankStatus& rank : status.ranks) {
            switch (rng_.below(8)) {
                case 0:
                    end_rank(rank, 0, 0);
                    break;
                case 1:
                    end_rank(rank, rng_.below(2) == 0 ? 1 : kRankLostPeer, 0);
                    break;
                default:
                    rank.training = rank.training || !rank.exited;
            }
        }
        const bool all = std::all_of(status.ranks.begin(), status.ranks.end(),
                                     [](const RankStatus& rank) { return rank.exited; });
        if (all && rng_.below(2) == 0) status.processes_left = false;
    }

    // Once every worker is back and every job cancelled, everything ends.
    void settle() {
        for (std::size_t node = 0; node < kNodes; ++node) {
            if (!workers_[node].up) session_up(node);
        }
        const auto jobs = world_.state.jobs;
        for (const auto& [id, job] : jobs) {
            take(world_.apply(CancelJob{id, StopMode::now}, 1));
        }
        for (int round = 0; round < 3; ++round) {
            for (std::size_t node = 0; node < kNodes; ++node) {
                const auto attempts = workers_[node].attempts;
                for (const auto& [epoch, status] : attempts) {
                    take(world_.status(name(node), status));
                }
            }
        }
        EXPECT_TRUE(world_.state.live_jobs.empty());
        EXPECT_TRUE(device_holders(world_.state).empty());
        EXPECT_EQ(world_.folded, flatten_tables(world_.state));
    }

    World world_;
    Rng rng_;
    std::int64_t order_ = 0;
    std::array<Worker, kNodes> workers_;
};

TEST(RandomInputs, KeepTheInvariantsAndFoldToTheTables) {
    std::map<JobState, int> ends;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(format("seed {}", seed));
        Simulation simulation(seed);
        simulation.run(300);
        for (const auto& [id, job] : simulation.world().state.jobs)
            ++ends[job.state];
        if (HasFailure()) return;
    }
    EXPECT_GT(ends[JobState::succeeded], 0) << "the simulation reaches every end";
    EXPECT_GT(ends[JobState::failed], 0);
    EXPECT_GT(ends[JobState::cancelled], 0);
}

}  // namespace
}  // namespace rm::test
