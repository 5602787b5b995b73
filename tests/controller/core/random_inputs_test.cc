#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

constexpr int kNodes = 4;
constexpr int kDevices = 2;

// Workers obey a controller late and in any order, machines vanish, and the controller crashes,
// loses what it had not committed and is restored from backups. Every choice comes from one seed;
// World checks the invariants after each input.
class Simulation {
public:
    explicit Simulation(std::uint64_t seed) : rng_(seed) {}

    void run(int num_inputs) {
        for (int i = 0; i < num_inputs; ++i) {
            turn();
            check_publishers();
        }
        EXPECT_EQ(world_.folded, flatten_tables(world_.state)) << "folding gives the tables";
        settle();
    }
    const World& world() const { return world_; }
    const std::map<std::string, int>& seen() const { return seen_; }

private:
    struct Worker {
        bool up = false;
        int boot = 1;
        Epoch highest;
        std::map<Epoch, AttemptStatus> attempts;
        std::map<Epoch, LaunchAttempt> launches;
        std::set<Epoch> granted;  // its rank 0 may publish
    };

    static std::string name(std::size_t node) { return format("n{}", node); }
    Worker& worker_of(const NodeId& node) {
        return workers_[static_cast<std::size_t>(node.value[1] - '0')];
    }

    // ---- what the controller says
    void apply(InputBody body) { take(world_.apply(std::move(body), 1)); }
    void take(const Outcome& outcome) {
        for (const AuditEvent& event : outcome.events)
            ++seen_[event.kind];
        for (const Effect& effect : outcome.effects) {
            const auto* send = std::get_if<SendToNode>(&effect);
            if (send == nullptr) continue;
            EXPECT_TRUE(worker_of(send->node).up) << "a command for a node without a session";
            std::visit([&](const auto& command) { obey(send->node, command); }, send->command);
        }
    }
    template <typename Question>
    void obey(const NodeId&, const Question&) {
        ADD_FAILURE() << "no node here declares roots";
    }
    void obey(const NodeId& node, const LaunchAttempt& launch) {
        Worker& worker = worker_of(node);
        if (worker.attempts.contains(launch.epoch)) return;
        if (launch.epoch < worker.highest) {
            return apply(NodeRefused{node, {launch.epoch, "a higher epoch was seen"}});
        }
        worker.highest = launch.epoch;
        AttemptStatus status{.epoch = launch.epoch, .job = launch.job, .processes_left = true};
        for (const RankLaunch& rank : launch.ranks) {
            EXPECT_FALSE(is_in_use(worker, rank.device)) << "of epoch " << launch.epoch;
            status.ranks.push_back({.rank = rank.rank, .device = rank.device, .running = true});
        }
        worker.launches[launch.epoch] = launch;
        worker.attempts[launch.epoch] = std::move(status);
    }
    static bool is_in_use(const Worker& worker, int device) {
        return std::any_of(worker.attempts.begin(), worker.attempts.end(), [&](const auto& entry) {
            const AttemptStatus& status = entry.second;
            return status.processes_left &&
                   std::any_of(status.ranks.begin(), status.ranks.end(),
                               [&](const RankStatus& rank) { return rank.device == device; });
        });
    }
    void obey(const NodeId& node, const StopAttempt& stop) {
        Worker& worker = worker_of(node);
        const auto it = worker.attempts.find(stop.epoch);
        if (it == worker.attempts.end()) {
            return apply(NodeRefused{node, {stop.epoch, "nothing of it is here"}});
        }
        for (RankStatus& rank : it->second.ranks)
            end_rank(rank, kRankStopped);
        it->second.processes_left = false;
    }
    void obey(const NodeId& node, const ForgetAttempt& forget) {
        EXPECT_FALSE(worker_of(node).attempts[forget.epoch].processes_left);
        worker_of(node).attempts.erase(forget.epoch);
        worker_of(node).launches.erase(forget.epoch);
    }

    void end_rank(RankStatus& rank, int code) {
        if (rank.exited) return;
        rank.running = false;
        rank.exited = true;
        rank.exit_code = code;
        rank.exit_order_mono_nanos = ++order_;
        if (code != 0 && code != kRankStopped) rank.error = format("words {}", order_);
    }

    // ---- what happens
    void turn() {
        const std::size_t node = rng_.below(kNodes);
        switch (rng_.below(24)) {
            case 0:
            case 1:
                return submit();
            case 2:
                return cancel();
            case 3:
            case 4:
            case 5:
                return workers_[node].up ? session_down(node) : session_up(node);
            case 6:
                return pass({11});
            case 7:
                return pass({70});
            case 8:
                return apply(NodeUnreachable{{name(node)}});
            case 9:
            case 10:
            case 11:
                return schedule();
            case 12:
                return drain_or_resume(node);
            case 13:
                return ask_to_publish(node);
            case 14:
                return happens_rarely(node);
            default:
                return live(node);
        }
    }
    void happens_rarely(std::size_t node) {
        switch (rng_.below(8)) {
            case 0:
                return vanish(node);
            case 1:
                return pass({1900});
            case 2:
                return crash();
            case 3:
                return restore();
            case 4:
            case 5:
                return drift(node);
            default:
                backup_ = world_.state;
        }
    }
    // A recovery is news only for a degraded link.
    void drift(std::size_t node) {
        LinkDrifted drift{{name(node)}, {name(rng_.below(kNodes))}, {10}, {3}, true};
        drift.degraded = rng_.below(2) == 0;
        const auto& degraded = world_.state.degraded_links;
        if (!drift.degraded && !degraded.empty()) {
            std::tie(drift.from, drift.to) = degraded.begin()->first;
        }
        apply(drift);
    }
    void pass(Seconds time) { take(world_.wait(time)); }

    void submit() {
        JobSpec spec = retried_spec(static_cast<int>(rng_.below(4)));
        if (rng_.below(2) == 0) spec.parallel = ring(static_cast<int>(1 + rng_.below(4)));
        spec.priority = static_cast<int>(rng_.below(3));
        const std::uint64_t request = rng_.below(40);
        apply(SubmitJob{{format("r{}", request)}, spec, "", rng_()});
    }
    void cancel() {
        if (world_.state.jobs.empty()) return;
        auto it = world_.state.jobs.begin();
        std::advance(it, rng_.below(world_.state.jobs.size()));
        apply(CancelJob{it->first, rng_.below(2) == 0 ? StopMode::now : StopMode::graceful});
    }
    void drain_or_resume(std::size_t node) {
        if (rng_.below(2) == 0) return apply(ResumeNode{{name(node)}});
        apply(DrainNode{{name(node)}, "maintenance", rng_.below(3) == 0});
    }
    void session_up(std::size_t node) {
        Worker& worker = workers_[node];
        Hello hello = hello_of(name(node), kDevices);
        hello.boot_id = format("boot-{}", worker.boot);
        hello.highest_epoch = worker.highest;
        for (const auto& [epoch, status] : worker.attempts)
            hello.attempts.push_back(status);
        for (const auto& [epoch, launch] : worker.launches)
            hello.launches.push_back(launch);
        worker.up = true;
        apply(NodeHello{hello});
    }
    void session_down(std::size_t node) {
        workers_[node].up = false;
        apply(NodeSessionDown{{name(node)}});
    }
    // The machine is lost with everything on it; a new one may take its name.
    void vanish(std::size_t node) {
        if (workers_[node].up) session_down(node);
        workers_[node] = {.boot = workers_[node].boot + 1, .highest = workers_[node].highest};
        if (rng_.below(2) == 0) apply(NodeGone{{name(node)}, "the provider took it"});
    }
    // The controller dies before the commit of an input and starts again from its tables.
    void crash() {
        const State tables = world_.state;
        const Tables folded = world_.folded;
        if (rng_.below(2) == 0) {
            world_.apply(PlanReady{some_job(), tables.planning_version, Plan{}});
        } else {
            world_.wait({100});
        }
        world_.state = tables;
        world_.folded = folded;
        restart();
        pass({0});
    }
    JobId some_job() {
        const auto& jobs = world_.state.live_jobs;
        return jobs.empty() ? JobId{"none"} : *jobs.begin();
    }
    void restart() {
        rebuild_indexes(world_.state, world_.now);
        check_invariants(world_.state);
        for (Worker& worker : workers_)
            worker.up = false;
    }
    // Forgets everything granted since the backup.
    void restore() {
        if (!backup_) return;
        for (Worker& worker : workers_) {
            worker.up = false;
            worker.granted.clear();
        }
        take(world_.restore(*backup_));
    }

    void schedule() {
        const PlanningSnapshot snapshot = planning_snapshot(world_.state, world_.now);
        for (PlanDecision& decision : plan_jobs(snapshot)) {
            apply(PlanReady{decision.job, snapshot.version, decision.decision});
            if (rng_.below(4) == 0) live(rng_.below(kNodes));
        }
        for (const auto& [job, version] : world_.state.reasoned) {
            EXPECT_GE(version, snapshot.version) << "job " << job << " has an older reason";
        }
    }

    // One attempt on the node makes progress, and reports it if there is a session.
    void live(std::size_t node) {
        Worker& worker = workers_[node];
        if (worker.attempts.empty()) return;
        auto it = worker.attempts.begin();
        std::advance(it, rng_.below(worker.attempts.size()));
        progress(it->second);
        if (!worker.up) return;
        take(world_.status(name(node), AttemptStatus(it->second)));
        if (rng_.below(8) == 0) pass({1});
    }
    void progress(AttemptStatus& status) {
        const bool quiet = rng_.below(4) == 0;
        for (RankStatus& rank : status.ranks) {
            const std::uint64_t luck = rng_.below(20);
            if (luck == 0) end_rank(rank, kRankFinished);
            if (luck == 1) end_rank(rank, static_cast<int>(1 + rng_.below(7)));
            rank.training = rank.training || !rank.exited;
            rank.suspended = luck == 2;
            rank.step += quiet ? 0 : 1;
            rank.quiet = Seconds{quiet ? 80.0 : 0.5};
        }
        const bool all = std::all_of(status.ranks.begin(), status.ranks.end(),
                                     [](const RankStatus& rank) { return rank.exited; });
        if (all && rng_.below(2) == 0) status.processes_left = false;
    }

    void ask_to_publish(std::size_t node) {
        Worker& worker = workers_[node];
        for (const auto& [epoch, status] : worker.attempts) {
            const bool asks = worker.up && status.processes_left && status.ranks.front().rank == 0;
            if (!asks) continue;
            const Outcome outcome = world_.apply(AskToPublish{epoch}, 1);
            if (reply(outcome)) worker.granted.insert(epoch);
            return take(outcome);
        }
    }
    // Expects that no two attempts of one job have processes that were allowed to publish.
    void check_publishers() {
        std::map<JobId, Epoch> publishers;
        for (const Worker& worker : workers_) {
            for (const Epoch epoch : worker.granted) {
                const auto status = worker.attempts.find(epoch);
                if (status == worker.attempts.end() || !status->second.processes_left) continue;
                const auto [other, first] = publishers.emplace(status->second.job, epoch);
                EXPECT_TRUE(first || other->second == epoch) << epoch << " and " << other->second;
            }
        }
    }

    void report_everything() {
        for (std::size_t node = 0; node < kNodes; ++node) {
            const auto attempts = workers_[node].attempts;
            for (const auto& [epoch, status] : attempts)
                take(world_.status(name(node), AttemptStatus(status)));
        }
    }
    // Once every worker is back and every job cancelled, everything ends.
    void settle() {
        for (std::size_t node = 0; node < kNodes; ++node) {
            if (!workers_[node].up) session_up(node);
        }
        const auto jobs = world_.state.jobs;
        for (const auto& [id, job] : jobs)
            apply(CancelJob{id, StopMode::now});
        for (int round = 0; round < 3; ++round)
            report_everything();
        // Ranks of recovered attempts may have been on machines that no longer exist.
        pass({1900});
        report_everything();
        EXPECT_TRUE(world_.state.live_jobs.empty());
        EXPECT_TRUE(world_.state.leftover.empty());
        EXPECT_TRUE(device_holders(world_.state).empty());
        EXPECT_EQ(world_.folded, flatten_tables(world_.state));
    }

    World world_;
    Rng rng_;
    std::int64_t order_ = 0;
    std::array<Worker, kNodes> workers_;
    std::optional<State> backup_;
    std::map<std::string, int> seen_;  // kinds of events
};

struct Totals {
    std::map<JobState, int> ends;
    std::map<FailureClass, int> failures;
    std::map<std::string, int> events;
    int recovered = 0;

    void add(const Simulation& simulation) {
        for (const auto& [id, job] : simulation.world().state.jobs) {
            ++ends[job.state];
            recovered += job.recovered ? 1 : 0;
        }
        for (const auto& [epoch, attempt] : simulation.world().state.attempts)
            ++failures[attempt.failure_class];
        for (const auto& [kind, count] : simulation.seen())
            events[kind] += count;
    }
};

TEST(RandomInputs, KeepTheInvariantsAndFoldToTheTables) {
    Totals totals;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(format("seed {}", seed));
        Simulation simulation(seed);
        simulation.run(400);
        totals.add(simulation);
        if (HasFailure()) return;
    }
    for (const JobState end : {JobState::succeeded, JobState::failed, JobState::cancelled})
        EXPECT_GT(totals.ends[end], 0) << to_string(end) << " is reached";
    for (const FailureRow& failure : kFailures)
        EXPECT_GT(totals.failures[failure.kind], 0) << failure.name << " is reached";
    for (const char* event :
         {"attempt.drained", "attempt.link_degraded", "attempt.link_restored",
          "attempt.may_publish", "cluster.restored", "job.recovered", "job.retry_due", "node.gone",
          "node.link_degraded", "node.link_restored"}) {
        EXPECT_GT(totals.events[event], 0) << event << " happens";
    }
    EXPECT_GT(totals.recovered, 0);
}

}  // namespace
}  // namespace rm::test
