#include "tests/sim/controller.h"

#include <algorithm>

#include "controller/core/apply.h"
#include "controller/core/due.h"
#include "controller/core/input.h"
#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"

namespace rm::sim {
namespace {

constexpr std::size_t kBackups = 3;
constexpr double kTick = 1;
constexpr double kPing = 5;
constexpr double kLife = 15;
constexpr double kHelloTimeout = 10;
constexpr double kVanished = kUnreachableAfter.value + 45;  // with slow commits between

}  // namespace

WallTime SimController::wall() const {
    const auto offset = static_cast<std::int64_t>(clock_offset_ * 1e6);
    return {1'750'000'000'000'000 + sim_.micros() + offset};
}

WallTime SimController::steady() const {
    return started_ + Seconds{sim_.now() - started_at_};
}

void SimController::later(double seconds, Simulator::Action action) {
    sim_.after(seconds, [this, life = life_, action = std::move(action)] {
        if (up_ && life == life_) action();
    });
}

void SimController::start() {
    if (up_) return;
    ++life_;
    up_ = true;
    sim_.say("controller starts, life {}", life_);
    started_ = wall();
    started_at_ = sim_.now();
    load();
    if (restored_) post(Restored{});
    if (state_.cluster.empty()) {
        post(FoundCluster{{"cluster-1"}});
    } else {
        post(CommandsDue{});
    }
    tick();
}

void SimController::load() {
    RM_CHECK(disk_.folded == flatten_tables(disk_.tables) || disk_.tables.cluster.empty(),
             "folding the log on disk does not give the tables");
    parts_.truth.loaded(disk_.tables);
    state_ = disk_.tables;
    state_.checkpoint_root = "/checkpoints";
    rebuild_indexes(state_, wall());
    check_invariants(state_);
    folded_ = disk_.folded;
    down_.clear();
    for (const auto& [id, node] : state_.nodes)
        down_[id] = sim_.now();
}

void SimController::kill(std::string_view why) {
    if (!up_) return;
    sim_.say("controller dies: {}", why);
    up_ = false;
    // The transaction may have reached the disk without any answer sent.
    if (committing_ && sim_.chance(0.5)) write(*committing_);
    committing_.reset();
    queue_.clear();
    readers_.clear();
    batch_due_ = planning_ = plan_wanted_ = false;
    for (const auto& [stream, session] : sessions_)
        parts_.network.send(stream, Way::to_worker, Close{});
    sessions_.clear();
    live_.clear();
    sim_.after(sim_.between(0.5, 20), [this] { start(); });
}

void SimController::back_up() {
    if (!up_ || restored_ || disk_.tables.cluster.empty()) return;
    backups_.push_back(disk_);
    if (backups_.size() > kBackups) backups_.erase(backups_.begin());
}

void SimController::restore() {
    if (backups_.empty()) return;
    kill("to be restored");
    const bool full = disk_.full;
    disk_ = backups_.front();
    disk_.full = full;
    backups_.clear();
    restored_ = true;
    unheard_.clear();
    for (const auto& [id, node] : disk_.tables.nodes)
        unheard_.insert(id);
    sim_.say("tables put back: {} jobs, next epoch {}", disk_.tables.jobs.size(),
             disk_.tables.next_epoch);
    parts_.truth.restored(disk_.tables);
}

void SimController::fill_disk(double seconds) {
    disk_.full = true;
    sim_.say("the controller's disk is full");
    sim_.after(seconds, [this] { disk_.full = false; });
}

void SimController::post(InputBody body, OnAnswer on_answer) {
    if (!up_) return;
    queue_.push_back({std::move(body), std::move(on_answer)});
    if (committing_ || batch_due_) return;
    batch_due_ = true;
    later(0, [this] { take_batch(); });
}

void SimController::read(std::function<void(const State&)> reader) {
    if (!up_) return;
    if (committing_) {
        readers_.push_back(std::move(reader));
    } else {
        reader(state_);
    }
}

bool SimController::has_session(const NodeId& node) const {
    const auto live = live_.find(node);
    return live != live_.end() && sessions_.at(live->second).open;
}

void SimController::tick() {
    later(kTick, [this] { tick(); });
    read([this](const State& state) {
        for (const NodeId& node : overdue_nodes(state, steady()))
            post(NodeUnreachable{node});
        check_vanished(state);
        const bool due =
            !due_commands(state, steady()).empty() || !due_times(state, steady()).empty();
        if (due) post(CommandsDue{});
    });
}

// An attempt known only to unreachable nodes must not keep stopping.
void SimController::check_vanished(const State& state) const {
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->state != AttemptState::stopping) continue;
        const bool vanished =
            std::all_of(attempt->ranks.begin(), attempt->ranks.end(), [&](const RankRecord& rank) {
                if (rank.state == RankState::cleared) return true;
                const auto down = down_.find(rank.device.node);
                return down != down_.end() && sim_.now() - down->second > kVanished;
            });
        RM_CHECK(!vanished, "attempt {} still stops though nobody can say anything of it",
                 attempt->epoch);
    }
}

void SimController::note_word(const InputBody& body) {
    if (const auto* status = std::get_if<NodeStatus>(&body)) {
        if (status->status.processes_left) spoken_[status->status.epoch] = sim_.now();
    } else if (const auto* hello = std::get_if<NodeHello>(&body)) {
        for (const AttemptStatus& status : hello->hello.attempts) {
            if (status.processes_left) spoken_[status.epoch] = sim_.now();
        }
    }
}

// No clock may declare an attempt lost before it is silent for as long as the job allows.
void SimController::check_silence(const AuditEvent& event) const {
    if (event.kind != "attempt.lost") return;
    for (const auto& [epoch, attempt] : state_.attempts) {
        if (subject_of(attempt) != event.subject) continue;
        if (!attempt.cause.starts_with("no worker has reported on it")) return;
        const double silent = sim_.now() - std::max(started_at_, spoken_.at(epoch));
        const Seconds least = state_.jobs.at(attempt.job).spec.retry.lost_after;
        RM_CHECK(silent >= least.value, "attempt {} is lost after {} of silence, {} is the least",
                 epoch, Seconds{silent}, least);
    }
}

void SimController::request_plan() {
    plan_wanted_ = true;
    if (planning_) return;
    planning_ = true;
    plan_wanted_ = false;
    later(sim_.between(0, 0.05), [this] { plan(); });
}

void SimController::plan() {
    read([this](const State& state) {
        const PlanningSnapshot snapshot = planning_snapshot(state, steady());
        // Later events may overtake the answers.
        later(sim_.between(0.01, sim_.chance(0.1) ? 5 : 0.3),
              [this, decisions = plan_jobs(snapshot), version = snapshot.version] {
                  for (const PlanDecision& decision : decisions)
                      post(PlanReady{decision.job, version, decision.decision});
                  planning_ = false;
                  if (plan_wanted_) request_plan();
              });
    });
}

void SimController::receive(int stream, const Packet& packet) {
    const bool known = sessions_.contains(stream);
    if (std::holds_alternative<Dial>(packet) && up_) {
        sessions_[stream];
        return later(kHelloTimeout, [this, stream] {
            if (sessions_.contains(stream) && !sessions_[stream].open) end(stream);
        });
    }
    if (std::holds_alternative<Close>(packet)) {
        if (known) end(stream);
        return;
    }
    if (!known) return parts_.network.send(stream, Way::to_worker, Close{});
    const auto& message = std::get<WorkerMessage>(packet);
    Session& session = sessions_[stream];
    if (const auto* hello = std::get_if<Hello>(&message)) {
        take_hello(stream, *hello);
    } else if (const auto* pong = std::get_if<Pong>(&message)) {
        const auto ping = session.pings.find(pong->nonce);
        if (ping == session.pings.end()) return;
        session.alive = ping->second;
        session.pings.erase(session.pings.begin(), std::next(ping));
    } else if (session.node.empty()) {
        end(stream);
    } else if (const auto* status = std::get_if<AttemptStatus>(&message)) {
        post(NodeStatus{session.node, *status});
    } else if (const auto* refused = std::get_if<CommandRefused>(&message)) {
        post(NodeRefused{session.node, *refused});
    } else if (const auto* roots = std::get_if<RootsReport>(&message)) {
        post(NodeRoots{session.node, *roots});
    } else if (const auto* devices = std::get_if<DevicesReport>(&message)) {
        post(NodeDevices{session.node, *devices});
    } else if (const auto* checked = std::get_if<FilesChecked>(&message)) {
        post(NodeFilesChecked{session.node, *checked});
    } else if (const auto* probed = std::get_if<RootProbed>(&message)) {
        post(NodeRootProbed{session.node, *probed});
    }
}

void SimController::take_hello(int stream, const Hello& hello) {
    const bool may_join = check_hello(hello, disk_.tables.cluster).ok();
    if (!may_join || !live_.emplace(hello.node, stream).second) {
        sim_.say("hello of {} is refused", hello.node);
        return end(stream);
    }
    sessions_[stream].node = hello.node;
    const HelloReply reply{.cluster = disk_.tables.cluster, .protocol = hello.protocol};
    post(NodeHello{hello}, [this, stream, reply, hello](const Result<JobId>& answer) {
        if (!sessions_.contains(stream)) return;
        if (!answer) return end(stream);
        if (unheard_.erase(hello.node) > 0) parts_.truth.adopted(hello, state_);
        open(stream, reply);
    });
}

void SimController::open(int stream, const HelloReply& reply) {
    sim_.say("session of {} is open", sessions_[stream].node);
    sessions_[stream].open = true;
    down_.erase(sessions_[stream].node);
    sessions_[stream].alive = sim_.now();
    parts_.network.send(stream, Way::to_worker, ControllerMessage{reply});
    later(kPing, [this, stream] { beat(stream); });
}

void SimController::beat(int stream) {
    const auto found = sessions_.find(stream);
    if (found == sessions_.end()) return;
    Session& session = found->second;
    if (sim_.now() - session.alive > kLife) return end(stream);
    session.pings[++session.nonce] = sim_.now();
    parts_.network.send(stream, Way::to_worker, ControllerMessage{Ping{session.nonce}});
    later(kPing, [this, stream] { beat(stream); });
}

void SimController::end(int stream) {
    const Session& session = sessions_.at(stream);
    const NodeId node = session.node;
    const double silent = session.open ? sim_.now() - session.alive : 0;
    sessions_.erase(stream);
    parts_.network.send(stream, Way::to_worker, Close{});
    const auto live = live_.find(node);
    if (live == live_.end() || live->second != stream) return;
    sim_.say("session of {} has ended", node);
    // In this order: the node's next session may only begin after the end of this one.
    post(NodeSessionDown{node, Seconds{silent}});
    live_.erase(live);
    down_[node] = sim_.now();
}

void SimController::send(const NodeId& node, const NodeCommand& command) {
    const auto live = live_.find(node);
    if (live == live_.end() || !sessions_.at(live->second).open) return;
    parts_.truth.commanded(node, command, disk_.tables);
    const ControllerMessage message =
        std::visit([](const auto& value) { return ControllerMessage{value}; }, command);
    parts_.network.send(live->second, Way::to_worker, message);
}

}  // namespace rm::sim
