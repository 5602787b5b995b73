#include "worker/core/worker_core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/text.h"

namespace rm {
namespace {

bool claims(const AttemptStatus& status, const LaunchAttempt& launch) {
    for (const RankStatus& held : status.ranks) {
        for (const RankLaunch& wanted : launch.ranks) {
            if (held.device == wanted.device) return true;
        }
    }
    return false;
}

// The status to report from the command until the first look at the shim's directory.
AttemptStatus promised(const LaunchAttempt& launch) {
    AttemptStatus status{.epoch = launch.epoch, .job = launch.job, .processes_left = true};
    for (const RankLaunch& rank : launch.ranks) {
        status.ranks.push_back({.rank = rank.rank, .device = rank.device, .phase = "starting"});
    }
    return status;
}

std::vector<std::string> own_addresses(const WorkerFacts& facts) {
    std::vector<std::string> own = {facts.inventory.data_address};
    for (const DataAddress& one : facts.data_addresses) {
        if (one.address != own.front()) own.push_back(one.address);
    }
    return own;
}

// Without what changes at every look.
AttemptStatus without_quiet(AttemptStatus status) {
    for (RankStatus& rank : status.ranks) {
        rank.quiet = {};
        rank.longest_quiet = {};
        rank.gpu = {};
    }
    return status;
}

AttemptStatus without_progress(AttemptStatus status) {
    for (RankStatus& rank : status.ranks) {
        rank.step = 0;
        rank.phase.clear();
        rank.last_collective.clear();
        rank.collectives_entered = 0;
        rank.collectives_left = 0;
        rank.waits_for = -1;
    }
    return without_quiet(std::move(status));
}

bool any_quiet(const AttemptStatus& status) {
    return std::any_of(status.ranks.begin(), status.ranks.end(),
                       [](const RankStatus& rank) { return rank.quiet > kQuietInterval; });
}

}  // namespace

WorkerCore::WorkerCore(WorkerFacts facts) : facts_(std::move(facts)) {
    for (AttemptStatus& status : facts_.attempts) {
        facts_.highest_epoch = std::max(facts_.highest_epoch, status.epoch);
        const Epoch epoch = status.epoch;
        attempts_[epoch].status = std::move(status);
    }
    for (LaunchAttempt& launch : facts_.launches) {
        const auto known = attempts_.find(launch.epoch);
        if (known != attempts_.end()) known->second.launch = std::move(launch);
    }
    facts_.attempts.clear();
    facts_.launches.clear();
}

std::vector<WorkerOutput> WorkerCore::apply(const WorkerInput& input) {
    Outputs out;
    std::visit([&](const auto& value) { on(value, out); }, input);
    return out;
}

Hello WorkerCore::hello() const {
    Hello hello{.build = facts_.build,
                .node = facts_.node,
                .cluster = facts_.cluster,
                .highest_epoch = facts_.highest_epoch,
                .boot_id = facts_.boot_id,
                .inventory = facts_.inventory,
                .roots = facts_.roots,
                .probe_port = facts_.probe_port,
                .machine = facts_.machine,
                .network = facts_.network,
                .profiles = facts_.profiles,
                .data_addresses = facts_.data_addresses};
    for (const auto& [epoch, attempt] : attempts_) {
        hello.attempts.push_back(attempt.status);
        if (attempt.launch) hello.launches.push_back(*attempt.launch);
    }
    return hello;
}

void WorkerCore::on(const SessionUp&, Outputs& out) {
    session_ = Session::greeting;
    for (auto& [epoch, attempt] : attempts_)
        attempt.sent = attempt.status;
    send(hello(), out);
}

void WorkerCore::on(const SessionDown&, Outputs&) {
    session_ = Session::down;
}

void WorkerCore::on(const Received& input, Outputs& out) {
    std::visit([&](const auto& message) { on_message(message, out); }, input.message);
}

void WorkerCore::on(const ShimObserved& input, Outputs& out) {
    const auto known = attempts_.find(input.status.epoch);
    if (known == attempts_.end() || waiting_.contains(known->first)) return;
    Attempt& attempt = known->second;
    const bool freed = attempt.status.processes_left && !input.status.processes_left;
    attempt.status = input.status;
    if (is_due(attempt, input.now)) {
        send_status(attempt, out);
        attempt.sent_at = input.now;
    }
    if (freed) start_what_can(out);
}

bool WorkerCore::is_due(const Attempt& attempt, MonoTime now) {
    if (!attempt.sent) return true;
    if (without_progress(*attempt.sent) != without_progress(attempt.status)) return true;
    const Seconds since = now - attempt.sent_at;
    if (without_quiet(*attempt.sent) != without_quiet(attempt.status)) {
        return since >= kProgressInterval;
    }
    return any_quiet(attempt.status) && since >= kQuietInterval;
}

void WorkerCore::on(const ShimNotStarted& input, Outputs& out) {
    give_up(input.epoch, input.reason, out);
    start_what_can(out);
}

void WorkerCore::on(const RootsObserved& input, Outputs& out) {
    if (!differs_noticeably(facts_.roots, input.roots)) return;
    facts_.roots = input.roots;
    send(RootsReport{facts_.roots}, out);
}

void WorkerCore::on(const DevicesObserved& input, Outputs& out) {
    if (set_fitness(facts_.inventory.devices, input.report)) send(input.report, out);
}

void WorkerCore::on(const FilesChecked& input, Outputs& out) {
    if (accepted()) send(input, out);
}

void WorkerCore::on(const RootProbed& input, Outputs& out) {
    if (accepted()) send(input, out);
}

void WorkerCore::on(const ProbeDone& input, Outputs& out) {
    send(input.report, out);
}

void WorkerCore::on_message(const HelloReply& reply, Outputs& out) {
    std::string wrong;
    if (reply.protocol != kProtocol) {
        wrong = format("the controller answers with protocol {}, this worker speaks {}",
                       reply.protocol, kProtocol);
    } else if (reply.cluster.empty()) {
        wrong = "the controller's greeting names no cluster";
    } else if (!facts_.cluster.empty() && reply.cluster != facts_.cluster) {
        wrong = format(
            "the controller is of cluster {}, this worker belongs to {}; a worker changes cluster "
            "only with a new state directory",
            reply.cluster, facts_.cluster);
    }
    if (!wrong.empty()) {
        session_ = Session::refused;
        out.push_back(EndSession{std::move(wrong)});
        return;
    }
    session_ = Session::accepted;
    if (facts_.cluster == reply.cluster) return;
    facts_.cluster = reply.cluster;
    out.push_back(PersistIdentity{facts_.cluster, facts_.highest_epoch});
}

void WorkerCore::on_message(const Ping& ping, Outputs& out) {
    send(Pong{ping.nonce}, out);
}

void WorkerCore::on_message(const LaunchAttempt& launch, Outputs& out) {
    if (!accepted()) return refuse(launch.epoch, "this session has not been greeted", out);
    if (const auto known = attempts_.find(launch.epoch); known != attempts_.end()) {
        return send_status(known->second, out);
    }
    if (std::string reason = reason_to_refuse(launch); !reason.empty()) {
        return refuse(launch.epoch, std::move(reason), out);
    }
    facts_.highest_epoch = launch.epoch;
    out.push_back(PersistIdentity{facts_.cluster, facts_.highest_epoch});
    stop_claimants(launch, out);
    Attempt& attempt = attempts_[launch.epoch];
    attempt.status = promised(launch);
    attempt.launch = launch;
    waiting_[launch.epoch] = launch;
    send_status(attempt, out);
    start_what_can(out);
}

void WorkerCore::on_message(const StopAttempt& stop, Outputs& out) {
    if (!accepted()) return refuse(stop.epoch, "this session has not been greeted", out);
    const auto known = attempts_.find(stop.epoch);
    if (known == attempts_.end()) {
        return refuse(stop.epoch, "this worker does not have this attempt", out);
    }
    if (waiting_.erase(stop.epoch) > 0) {
        give_up(stop.epoch, "stopped before it was started", out);
    } else if (known->second.status.processes_left) {
        out.push_back(WorkerCommand(stop));
    } else {
        send_status(known->second, out);
    }
}

void WorkerCore::on_message(const ForgetAttempt& forget, Outputs& out) {
    if (!accepted()) return refuse(forget.epoch, "this session has not been greeted", out);
    const auto known = attempts_.find(forget.epoch);
    if (known == attempts_.end()) return;
    if (known->second.status.processes_left) {
        return refuse(forget.epoch, "its processes are still running; stop it first", out);
    }
    attempts_.erase(known);
    out.push_back(WorkerCommand(forget));
}

std::string WorkerCore::reason_to_refuse(const LaunchAttempt& launch) const {
    // This worker has no attempt of the epoch: if it is the highest, its attempt was forgotten.
    if (launch.epoch <= facts_.highest_epoch) {
        return format("epoch {} is not newer than {}, the highest this worker has seen",
                      launch.epoch, facts_.highest_epoch);
    }
    if (const Status id = check_job_id(launch.job); !id) return id.error().message;
    if (launch.ranks.empty()) return "the launch has no rank for this worker";
    const std::vector<std::string> own = own_addresses(facts_);
    const std::string& address = launch.data_address;
    if (!address.empty() && std::find(own.begin(), own.end(), address) == own.end()) {
        return format("{} is no data address of this worker; it has {}", address, join(own, ", "));
    }
    std::set<int> devices;
    for (const RankLaunch& rank : launch.ranks) {
        const auto& present = facts_.inventory.devices;
        const bool exists = std::any_of(present.begin(), present.end(), [&](const DeviceInfo& d) {
            return d.index == rank.device;
        });
        if (!exists) {
            return format("rank {} wants device {}; this worker has {}", rank.rank, rank.device,
                          present.size());
        }
        if (!devices.insert(rank.device).second) {
            return format("device {} is given to two ranks", rank.device);
        }
    }
    return {};
}

void WorkerCore::stop_claimants(const LaunchAttempt& launch, Outputs& out) {
    std::vector<Epoch> overtaken;
    for (const auto& [epoch, attempt] : attempts_) {
        if (!attempt.status.processes_left || !claims(attempt.status, launch)) continue;
        if (waiting_.contains(epoch)) {
            overtaken.push_back(epoch);
        } else {
            out.push_back(WorkerCommand(
                StopAttempt{.epoch = epoch, .mode = StopMode::graceful, .grace = kTakeoverGrace}));
        }
    }
    for (const Epoch epoch : overtaken) {
        waiting_.erase(epoch);
        give_up(epoch, format("epoch {} claimed its device before it was started", launch.epoch),
                out);
    }
}

bool WorkerCore::device_is_free_for(const LaunchAttempt& launch) const {
    return std::none_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
        return entry.first < launch.epoch && entry.second.status.processes_left &&
               claims(entry.second.status, launch);
    });
}

void WorkerCore::start_what_can(Outputs& out) {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
        if (!device_is_free_for(next->second)) {
            ++next;
            continue;
        }
        out.push_back(WorkerCommand(std::move(next->second)));
        next = waiting_.erase(next);
    }
}

void WorkerCore::give_up(Epoch epoch, const std::string& reason, Outputs& out) {
    const auto known = attempts_.find(epoch);
    RM_CHECK(known != attempts_.end(), "epoch {} failed to start but was never launched", epoch);
    AttemptStatus& status = known->second.status;
    status.ranks.clear();
    status.processes_left = false;
    status.launch_error = reason;
    send_status(known->second, out);
}

void WorkerCore::send(WorkerMessage message, Outputs& out) const {
    if (session_ == Session::greeting || session_ == Session::accepted) {
        out.push_back(SendMessage{std::move(message)});
    }
}

void WorkerCore::send_status(Attempt& attempt, Outputs& out) {
    attempt.sent = attempt.status;
    send(attempt.status, out);
}

void WorkerCore::refuse(Epoch epoch, std::string reason, Outputs& out) const {
    send(CommandRefused{epoch, std::move(reason)}, out);
}

}  // namespace rm
