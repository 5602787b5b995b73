#include "tests/sim/worker.h"

#include <algorithm>

namespace rm::sim {
namespace {

constexpr double kLook = 1;
constexpr double kKeepAlive = 20;

Inventory inventory_of(int node, int num_devices) {
    Inventory inventory;
    inventory.hostname = format("host-{}", node);
    for (int i = 0; i < num_devices; ++i)
        inventory.devices.push_back({.index = i, .kind = "cpu"});
    return inventory;
}

// Messages as a worker of the previous protocol sends and reads them.
WorkerMessage made_old(WorkerMessage message) {
    if (auto* hello = std::get_if<Hello>(&message)) {
        hello->protocol = kProtocol - 1;
        hello->launches.clear();
        hello->roots.clear();
    }
    return message;
}
ControllerMessage made_new(ControllerMessage message) {
    if (auto* reply = std::get_if<HelloReply>(&message)) reply->protocol = kProtocol;
    return message;
}

}  // namespace

SimWorker::SimWorker(Parts parts)
    : parts_(std::move(parts)), sim_(parts_.sim), id_{format("n{}", parts_.index)} {}

void SimWorker::later(double seconds, Simulator::Action action) {
    sim_.after(seconds, [this, life = life_, action = std::move(action)] {
        if (core_ && life == life_) action();
    });
}

void SimWorker::start_daemon() {
    if (core_ || !powered_) return;
    ++life_;
    const bool forgets = parts_.plant == Plant::worker_forgets_epoch;
    WorkerFacts facts{.node = id_,
                      .cluster = disk_.cluster,
                      .highest_epoch = forgets ? Epoch{} : disk_.highest,
                      .build = parts_.old ? "build-0" : "build-1",
                      .boot_id = format("boot-{}", boots_),
                      .inventory = inventory_of(parts_.index, parts_.num_devices),
                      .roots = roots_now()};
    for (const auto& [epoch, shim] : shims_) {
        facts.attempts.push_back(status_of(shim));
        facts.launches.push_back(shim.launch);
    }
    core_.emplace(std::move(facts));
    persisted_ = {};
    backoff_.emplace(BackoffLimits{}, sim_.random());
    sim_.say("worker {} starts", id_);
    connect();
    look();
}

void SimWorker::kill_daemon() {
    if (!core_) return;
    sim_.say("worker {} is killed", id_);
    core_.reset();
    if (stream_ != 0) parts_.network.send(stream_, Way::to_controller, Close{});
    stream_ = 0;
    sim_.after(sim_.between(0.5, 30), [this] { start_daemon(); });
}

void SimWorker::kill_node(double seconds) {
    if (!powered_) return;
    sim_.say("node {} dies", id_);
    core_.reset();
    stream_ = 0;
    powered_ = false;
    for (auto& [epoch, shim] : shims_)
        kill_shim(shim);
    sim_.after(seconds, [this] {
        powered_ = true;
        ++boots_;
        start_daemon();
    });
}

void SimWorker::fill_disk(double seconds) {
    disk_full_ = true;
    sim_.after(seconds, [this] { disk_full_ = false; });
}

void SimWorker::lose_root(double seconds) {
    if (!parts_.roots) return;
    sim_.say("{} loses its root", id_);
    root_lost_ = true;
    sim_.after(seconds, [this] {
        if (root_lost_) ++mounts_;
        root_lost_ = false;
    });
}

std::vector<RootInfo> SimWorker::roots_now() const {
    if (!parts_.roots) return {};
    RootInfo root{.name = "all", .path = "/", .mount = format("{}", mounts_)};
    root.problem = root_lost_ ? "nothing is mounted" : "";
    root.writable = !root_lost_;
    root.free = {1LL << 40};
    return {root};
}

void SimWorker::answer(WorkerInput input) {
    if (sim_.chance(0.05)) return;  // it hangs, and the question is asked again
    const double taken = sim_.chance(0.1) ? sim_.between(1, 25) : sim_.between(0.001, 0.2);
    later(taken, [this, input = std::move(input)] { handle(input); });
}

void SimWorker::obey(const CheckFiles& check) {
    FilesChecked checked{.key = check.key};
    for (const FileWanted& file : check.files) {
        FileFacts facts{.use = file.use, .path = file.path, .root = "all", .free = {1LL << 40}};
        if (root_lost_) facts.problem = "nothing is mounted";
        if (!is_written(file.use)) facts.index = "the same everywhere";
        checked.files.push_back(std::move(facts));
    }
    answer(checked);
}

void SimWorker::obey(const ProbeRoot& asked) {
    RootProbed probed{.root = asked.root, .nonce = asked.nonce, .step = asked.step};
    if (root_lost_) {
        probed.problem = "nothing is mounted";
    } else if (asked.step == ProbeStep::write) {
        parts_.shares->insert(asked.nonce);
    } else if (asked.step == ProbeStep::look) {
        probed.found = parts_.shares->contains(asked.nonce);
    } else {
        parts_.shares->erase(asked.nonce);
    }
    answer(probed);
}

void SimWorker::connect() {
    if (stream_ != 0) return;
    stream_ = parts_.network.open(parts_.index);
    heard_ = sim_.now();
    parts_.network.send(stream_, Way::to_controller, Dial{});
    handle(SessionUp{});
    keep_alive(stream_);
}

void SimWorker::keep_alive(int stream) {
    later(kKeepAlive / 4, [this, stream] {
        if (stream_ != stream) return;
        if (sim_.now() - heard_ > kKeepAlive) return drop_session();
        keep_alive(stream);
    });
}

void SimWorker::drop_session() {
    if (stream_ == 0) return;
    parts_.network.send(stream_, Way::to_controller, Close{});
    end_session();
}

void SimWorker::end_session() {
    stream_ = 0;
    handle(SessionDown{});
    later(backoff_->next().value, [this] { connect(); });
}

void SimWorker::receive(int stream, const Packet& packet) {
    if (!powered_) return;
    const bool closes = std::holds_alternative<Close>(packet);
    if (!core_ || stream != stream_) {
        if (!closes) parts_.network.send(stream, Way::to_controller, Close{});
        return;
    }
    heard_ = sim_.now();
    if (closes) return end_session();
    const bool was_accepted = core_->accepted();
    const auto& message = std::get<ControllerMessage>(packet);
    handle(Received{parts_.old ? made_new(message) : message});
    if (core_ && core_->accepted() && !was_accepted) backoff_->reset();
}

void SimWorker::obey_twin(const LaunchAttempt& launch) {
    if (!core_ || disk_.cluster.empty()) return;
    if (stream_ != 0) {
        parts_.network.send(stream_, Way::to_controller, Close{});
        stream_ = 0;
        handle(SessionDown{});
    }
    sim_.say("a twin commands {} to launch {}", id_, launch.epoch);
    handle(SessionUp{});
    handle(Received{HelloReply{.cluster = disk_.cluster, .protocol = kProtocol}});
    handle(Received{launch});
    handle(SessionDown{});
    later(backoff_->next().value, [this] { connect(); });
}

void SimWorker::look() {
    later(kLook, [this] { look(); });
    if (parts_.roots) handle(RootsObserved{roots_now()});
    std::vector<Epoch> epochs;
    for (const auto& [epoch, shim] : shims_)
        epochs.push_back(epoch);
    for (const Epoch epoch : epochs) {
        const auto shim = shims_.find(epoch);
        if (shim != shims_.end()) handle(ShimObserved{status_of(shim->second), sim_.mono()});
    }
}

AttemptStatus SimWorker::status_of(const SimShim& shim) const {
    AttemptStatus status{.epoch = shim.launch.epoch,
                         .job = shim.launch.job,
                         .processes_left = shim.live,
                         .checkpoint_step = shim.checkpoint_step,
                         .checkpoint_path = shim.checkpoint_path};
    for (const SimRank& rank : shim.ranks)
        status.ranks.push_back(status_of(shim, rank));
    return status;
}

RankStatus SimWorker::status_of(const SimShim& shim, const SimRank& rank) const {
    RankStatus status{.rank = rank.rank,
                      .device = rank.device,
                      .running = rank.alive,
                      .training = shim.step > 0,
                      .step = shim.step,
                      .phase = shim.phase};
    if (!parts_.old) {
        // Before the first step there is nothing to compare with.
        if (shim.step > 0) {
            status.quiet = Seconds{sim_.now() - shim.changed};
            status.longest_quiet = Seconds{shim.longest_quiet};
        }
        status.suspended = rank.suspended;
        status.waits_for = rank.waits_for;
        status.collectives_left = shim.step;
        status.collectives_entered = shim.step + (rank.waits_for < 0 ? 0 : 1);
    }
    if (rank.recorded) {
        status.exited = true;
        status.exit_code = rank.code;
        status.exit_signal = rank.signal;
        status.error = rank.error;
        status.exit_order_mono_nanos = rank.exit_order;
    } else if (!shim.live) {
        status.exited = true;
        status.exit_code = kRankFailed;
        status.error = "it ended together with its shim, which recorded no exit";
    }
    return status;
}

void SimWorker::handle(const WorkerInput& input) {
    std::vector<WorkerOutput> outputs = core_->apply(input);
    const auto* received = std::get_if<Received>(&input);
    const auto* launch =
        received == nullptr ? nullptr : std::get_if<LaunchAttempt>(&received->message);
    const bool accepted = std::any_of(outputs.begin(), outputs.end(), [](const auto& output) {
        return std::holds_alternative<PersistIdentity>(output);
    });
    if (parts_.plant == Plant::launch_without_waiting && launch != nullptr && accepted) {
        std::erase_if(outputs, [](const auto& output) {
            const auto* command = std::get_if<WorkerCommand>(&output);
            return command != nullptr && std::holds_alternative<LaunchAttempt>(*command);
        });
        outputs.emplace_back(WorkerCommand(*launch));
    }
    carry_out(outputs);
}

void SimWorker::carry_out(const std::vector<WorkerOutput>& outputs) {
    for (const WorkerOutput& output : outputs)
        std::visit([this](const auto& value) { perform(value); }, output);
}

Status SimWorker::persist(const PersistIdentity& identity) {
    if (disk_full_) return make_error(ErrorCode::resource_exhausted, "the disk is full");
    disk_ = {identity.cluster, identity.highest_epoch};
    parts_.truth.remembers_highest(id_, disk_.highest);
    return {};
}

void SimWorker::perform(const PersistIdentity& identity) {
    persisted_ = persist(identity);
}

void SimWorker::perform(const SendMessage& message) {
    if (stream_ == 0) return;
    if (const auto* hello = std::get_if<Hello>(&message.message)) {
        parts_.truth.says_highest(id_, hello->highest_epoch);
    }
    parts_.network.send(stream_, Way::to_controller,
                        parts_.old ? made_old(message.message) : message.message);
}

void SimWorker::perform(const WorkerCommand& command) {
    std::visit([this](const auto& asked) { obey(asked); }, command);
}

void SimWorker::obey(const LaunchAttempt& launch) {
    const Status started = start_fenced(launch);
    if (started) return;
    sim_.say("{} does not start {}: {}", id_, launch.epoch, started.error().message);
    carry_out(core_->apply(ShimNotStarted{launch.epoch, started.error().message}));
}

Status SimWorker::start_fenced(const LaunchAttempt& launch) {
    if (!persisted_) persisted_ = persist({core_->cluster(), core_->highest_epoch()});
    RM_RETURN_IF_ERROR(persisted_);
    if (disk_full_) return make_error(ErrorCode::resource_exhausted, "the disk is full");
    start_shim(launch);
    return {};
}

void SimWorker::perform(const EndSession& end) {
    sim_.say("{} refuses its controller: {}", id_, end.reason);
    if (stream_ == 0) return;
    parts_.network.send(stream_, Way::to_controller, Close{});
    later(0, [this, stream = stream_] {
        if (stream_ == stream) end_session();
    });
}

}  // namespace rm::sim
