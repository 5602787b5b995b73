#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert.h"

namespace rm {
namespace {

// ---- worker -> controller

void fill(pb::Peak& out, const Peak& peak) {
    out.set_flops(peak.flops);
    out.set_name(peak.name);
}

void fill(pb::Device& out, const DeviceInfo& device) {
    out.set_index(device.index);
    out.set_kind(device.kind);
    out.set_memory_bytes(device.memory.value);
    fill(*out.mutable_fp32(), device.fp32);
    fill(*out.mutable_bf16(), device.bf16);
    out.set_threads(device.num_threads);
}

DeviceInfo device_from(const pb::Device& device) {
    return {.index = device.index(),
            .kind = device.kind(),
            .memory = Bytes{device.memory_bytes()},
            .fp32 = {device.fp32().flops(), device.fp32().name()},
            .bf16 = {device.bf16().flops(), device.bf16().name()},
            .num_threads = device.threads()};
}

void fill(pb::RankStatus& out, const RankStatus& rank) {
    out.set_rank(rank.rank);
    out.set_device(rank.device);
    out.set_running(rank.running);
    out.set_training(rank.training);
    out.set_exited(rank.exited);
    out.set_exit_code(rank.exit_code);
    out.set_exit_signal(rank.exit_signal);
    out.set_error(rank.error);
    out.set_step(rank.step);
    out.set_phase(rank.phase);
    out.set_last_collective(rank.last_collective);
    out.set_collectives_entered(rank.collectives_entered);
    out.set_collectives_left(rank.collectives_left);
    out.set_waits_for(rank.waits_for + 1);
    out.set_quiet_seconds(rank.quiet.value);
    out.set_longest_quiet_seconds(rank.longest_quiet.value);
    out.set_suspended(rank.suspended);
    out.set_exit_order_mono_nanos(rank.exit_order_mono_nanos);
}

RankStatus rank_from(const pb::RankStatus& rank) {
    return {.rank = rank.rank(),
            .device = rank.device(),
            .running = rank.running(),
            .training = rank.training(),
            .exited = rank.exited(),
            .exit_code = rank.exit_code(),
            .exit_signal = rank.exit_signal(),
            .error = rank.error(),
            .step = rank.step(),
            .phase = rank.phase(),
            .last_collective = rank.last_collective(),
            .collectives_entered = rank.collectives_entered(),
            .collectives_left = rank.collectives_left(),
            .waits_for = rank.waits_for() - 1,
            .quiet = {rank.quiet_seconds()},
            .longest_quiet = {rank.longest_quiet_seconds()},
            .suspended = rank.suspended(),
            .exit_order_mono_nanos = rank.exit_order_mono_nanos()};
}

pb::LaunchAttempt launch_to(const LaunchAttempt& launch) {
    pb::LaunchAttempt out;
    out.set_epoch(launch.epoch.value);
    out.set_job_id(launch.job.value);
    *out.mutable_spec() = to_proto(launch.spec);
    *out.mutable_mesh() = to_proto(launch.plan.mesh);
    out.set_zero(launch.plan.zero);
    *out.mutable_memory() = to_proto(launch.plan.memory);
    out.set_collective_timeout_seconds(launch.plan.collective_timeout.value);
    for (const RankLaunch& rank : launch.ranks) {
        pb::RankLaunch& added = *out.add_ranks();
        added.set_rank(rank.rank);
        added.set_device(rank.device);
    }
    out.set_checkpoint_dir(launch.checkpoint_dir);
    out.set_owner(launch.owner);
    out.set_yaml(launch.yaml);
    return out;
}

Result<LaunchAttempt> launch_from(const pb::LaunchAttempt& launch) {
    LaunchAttempt out;
    out.epoch = {launch.epoch()};
    out.job = {launch.job_id()};
    RM_TRY(out.spec, from_proto(launch.spec()));
    RM_TRY(out.plan.mesh, from_proto(launch.mesh()));
    out.plan.zero = launch.zero();
    RM_TRY(out.plan.memory, from_proto(launch.memory()));
    out.plan.collective_timeout = {launch.collective_timeout_seconds()};
    for (const pb::RankLaunch& rank : launch.ranks()) {
        out.ranks.push_back({.rank = rank.rank(), .device = rank.device()});
    }
    out.checkpoint_dir = launch.checkpoint_dir();
    out.owner = launch.owner();
    out.yaml = launch.yaml();
    return out;
}

void fill(pb::WorkerMessage& message, const Hello& hello) {
    pb::Hello& out = *message.mutable_hello();
    out.set_protocol(hello.protocol);
    out.set_build(hello.build);
    out.set_node_id(hello.node.value);
    out.set_cluster_id(hello.cluster.value);
    out.set_highest_epoch(hello.highest_epoch.value);
    out.set_boot_id(hello.boot_id);
    *out.mutable_inventory() = to_proto(hello.inventory);
    for (const AttemptStatus& status : hello.attempts)
        *out.add_attempts() = to_proto(status);
    for (const LaunchAttempt& launch : hello.launches)
        *out.add_launches() = launch_to(launch);
    for (const RootInfo& root : hello.roots)
        *out.add_roots() = to_proto(root);
    out.set_probe_port(hello.probe_port);
    out.set_machine(hello.machine);
    out.set_network(hello.network);
}

Result<Hello> hello_from(const pb::Hello& hello) {
    Hello out{.protocol = hello.protocol(),
              .build = hello.build(),
              .node = {hello.node_id()},
              .cluster = {hello.cluster_id()},
              .highest_epoch = {hello.highest_epoch()},
              .boot_id = hello.boot_id(),
              .inventory = from_proto(hello.inventory())};
    for (const pb::AttemptStatus& status : hello.attempts()) {
        out.attempts.push_back(from_proto(status));
    }
    for (const pb::LaunchAttempt& launch : hello.launches()) {
        RM_TRY(LaunchAttempt converted, launch_from(launch));
        out.launches.push_back(std::move(converted));
    }
    for (const pb::Root& root : hello.roots())
        out.roots.push_back(from_proto(root));
    out.probe_port = hello.probe_port();
    out.machine = hello.machine();
    out.network = hello.network();
    return out;
}

void fill(pb::WorkerMessage& message, const Pong& pong) {
    message.mutable_pong()->set_nonce(pong.nonce);
}

void fill(pb::WorkerMessage& message, const AttemptStatus& status) {
    *message.mutable_status() = to_proto(status);
}

void fill(pb::WorkerMessage& message, const CommandRefused& refused) {
    message.mutable_refused()->set_epoch(refused.epoch.value);
    message.mutable_refused()->set_reason(refused.reason);
}

void fill(pb::WorkerMessage& message, const RootsReport& report) {
    for (const RootInfo& root : report.roots)
        *message.mutable_roots()->add_roots() = to_proto(root);
}

void fill(pb::WorkerMessage& message, const FilesChecked& checked) {
    message.mutable_files()->set_key(checked.key);
    for (const FileFacts& facts : checked.files)
        *message.mutable_files()->add_files() = to_proto(facts);
}

void fill(pb::WorkerMessage& message, const RootProbed& probed) {
    *message.mutable_probed() = to_proto(probed);
}

RootsReport roots_from(const pb::RootsReport& report) {
    RootsReport out;
    for (const pb::Root& root : report.roots())
        out.roots.push_back(from_proto(root));
    return out;
}

Result<FilesChecked> files_from(const pb::FilesChecked& checked) {
    FilesChecked out{.key = checked.key()};
    for (const pb::FileFacts& facts : checked.files()) {
        RM_TRY(FileFacts converted, from_proto(facts));
        out.files.push_back(std::move(converted));
    }
    return out;
}

void fill(pb::WorkerMessage& message, const ProbeReport& report) {
    *message.mutable_probe() = to_proto(report);
}

// ---- controller -> worker

void fill(pb::ControllerMessage& message, const HelloReply& reply) {
    message.mutable_hello()->set_cluster_id(reply.cluster.value);
    message.mutable_hello()->set_protocol(reply.protocol);
    message.mutable_hello()->set_ping_seconds(reply.ping_interval.value);
}

HelloReply reply_from(const pb::HelloReply& reply) {
    return {.cluster = {reply.cluster_id()},
            .protocol = reply.protocol(),
            .ping_interval = {reply.ping_seconds()}};
}

void fill(pb::ControllerMessage& message, const Ping& ping) {
    message.mutable_ping()->set_nonce(ping.nonce);
}

void fill(pb::ControllerMessage& message, const LaunchAttempt& launch) {
    *message.mutable_launch() = launch_to(launch);
}

void fill(pb::ControllerMessage& message, const StopAttempt& stop) {
    message.mutable_stop()->set_epoch(stop.epoch.value);
    message.mutable_stop()->set_now(stop.mode == StopMode::now);
    message.mutable_stop()->set_grace_seconds(stop.grace.value);
}

StopAttempt stop_from(const pb::StopAttempt& stop) {
    return {.epoch = {stop.epoch()},
            .mode = stop.now() ? StopMode::now : StopMode::graceful,
            .grace = {stop.grace_seconds()}};
}

void fill(pb::ControllerMessage& message, const ForgetAttempt& forget) {
    message.mutable_forget()->set_epoch(forget.epoch.value);
}

void fill(pb::ControllerMessage& message, const CheckFiles& check) {
    message.mutable_check_files()->set_key(check.key);
    for (const FileWanted& file : check.files)
        *message.mutable_check_files()->add_files() =
            to_proto(FileFacts{.use = file.use, .path = file.path});
}

Result<CheckFiles> check_from(const pb::CheckFiles& check) {
    CheckFiles out{.key = check.key()};
    for (const pb::FileFacts& file : check.files()) {
        RM_TRY(const FileFacts wanted, from_proto(file));
        out.files.push_back({wanted.use, wanted.path});
    }
    return out;
}

void fill(pb::ControllerMessage& message, const ProbeRoot& probe) {
    *message.mutable_probe_root() = to_proto(probe);
}

void fill(pb::ControllerMessage& message, const ExpectProbe& expect) {
    *message.mutable_expect_probe() = to_proto(expect);
}

void fill(pb::ControllerMessage& message, const RunProbe& run) {
    *message.mutable_run_probe() = to_proto(run);
}

template <typename Message, typename T>
Result<Message> one_of(Result<T> part) {
    if (!part) return part.error();
    return Message(std::move(*part));
}

Error unknown_message(std::string_view from) {
    return invalid_argument(
        "a message of the {} is of a kind this program does not know; both must speak protocol {}",
        from, kProtocol);
}

}  // namespace

pb::Inventory to_proto(const Inventory& inventory) {
    pb::Inventory out;
    out.set_hostname(inventory.hostname);
    out.set_os(inventory.os);
    out.set_cpu_model(inventory.cpu_model);
    out.set_cores(inventory.num_cores);
    out.set_memory_bytes(inventory.memory.value);
    for (const DeviceInfo& device : inventory.devices)
        fill(*out.add_devices(), device);
    out.set_data_address(inventory.data_address);
    out.set_http_address(inventory.http_address);
    return out;
}

Inventory from_proto(const pb::Inventory& inventory) {
    Inventory out{.hostname = inventory.hostname(),
                  .os = inventory.os(),
                  .cpu_model = inventory.cpu_model(),
                  .num_cores = inventory.cores(),
                  .memory = Bytes{inventory.memory_bytes()},
                  .data_address = inventory.data_address(),
                  .http_address = inventory.http_address()};
    for (const pb::Device& device : inventory.devices()) {
        out.devices.push_back(device_from(device));
    }
    return out;
}

pb::AttemptStatus to_proto(const AttemptStatus& status) {
    pb::AttemptStatus out;
    out.set_epoch(status.epoch.value);
    out.set_job_id(status.job.value);
    for (const RankStatus& rank : status.ranks)
        fill(*out.add_ranks(), rank);
    out.set_processes_left(status.processes_left);
    out.set_checkpoint_step(status.checkpoint_step);
    out.set_checkpoint_path(status.checkpoint_path);
    out.set_stages_done(status.stages_done);
    out.set_launch_error(status.launch_error);
    return out;
}

AttemptStatus from_proto(const pb::AttemptStatus& status) {
    AttemptStatus out{.epoch = {status.epoch()},
                      .job = {status.job_id()},
                      .processes_left = status.processes_left(),
                      .checkpoint_step = status.checkpoint_step(),
                      .checkpoint_path = status.checkpoint_path(),
                      .stages_done = status.stages_done(),
                      .launch_error = status.launch_error()};
    for (const pb::RankStatus& rank : status.ranks())
        out.ranks.push_back(rank_from(rank));
    return out;
}

pb::WorkerMessage to_proto(const WorkerMessage& message) {
    pb::WorkerMessage out;
    std::visit([&out](const auto& part) { fill(out, part); }, message);
    return out;
}

Result<WorkerMessage> from_proto(const pb::WorkerMessage& message) {
    switch (message.message_case()) {
        case pb::WorkerMessage::kHello:
            return one_of<WorkerMessage>(hello_from(message.hello()));
        case pb::WorkerMessage::kPong:
            return WorkerMessage(Pong{message.pong().nonce()});
        case pb::WorkerMessage::kStatus:
            return WorkerMessage(from_proto(message.status()));
        case pb::WorkerMessage::kRefused:
            return WorkerMessage(
                CommandRefused{{message.refused().epoch()}, message.refused().reason()});
        case pb::WorkerMessage::kRoots:
            return WorkerMessage(roots_from(message.roots()));
        case pb::WorkerMessage::kFiles:
            return one_of<WorkerMessage>(files_from(message.files()));
        case pb::WorkerMessage::kProbed:
            return one_of<WorkerMessage>(from_proto(message.probed()));
        case pb::WorkerMessage::kProbe:
            return WorkerMessage(from_proto(message.probe()));
        case pb::WorkerMessage::MESSAGE_NOT_SET:
            break;
    }
    return unknown_message("worker");
}

pb::ControllerMessage to_proto(const ControllerMessage& message) {
    pb::ControllerMessage out;
    std::visit([&out](const auto& part) { fill(out, part); }, message);
    return out;
}

Result<ControllerMessage> from_proto(const pb::ControllerMessage& message) {
    switch (message.message_case()) {
        case pb::ControllerMessage::kHello:
            return ControllerMessage(reply_from(message.hello()));
        case pb::ControllerMessage::kPing:
            return ControllerMessage(Ping{message.ping().nonce()});
        case pb::ControllerMessage::kLaunch:
            return one_of<ControllerMessage>(launch_from(message.launch()));
        case pb::ControllerMessage::kStop:
            return ControllerMessage(stop_from(message.stop()));
        case pb::ControllerMessage::kForget:
            return ControllerMessage(ForgetAttempt{{message.forget().epoch()}});
        case pb::ControllerMessage::kCheckFiles:
            return one_of<ControllerMessage>(check_from(message.check_files()));
        case pb::ControllerMessage::kProbeRoot:
            return one_of<ControllerMessage>(from_proto(message.probe_root()));
        case pb::ControllerMessage::kExpectProbe:
            return ControllerMessage(from_proto(message.expect_probe()));
        case pb::ControllerMessage::kRunProbe:
            return ControllerMessage(from_proto(message.run_probe()));
        case pb::ControllerMessage::MESSAGE_NOT_SET:
            break;
    }
    return unknown_message("controller");
}

}  // namespace rm
