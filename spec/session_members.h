#pragma once

#include "spec/job_members.h"
#include "spec/session.h"

// The members of the messages between workers and the controller, for every form: see member.h.
// Each has one name in all forms, which states the unit.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<Peak> auto& peak) {
    auto& [flops, name] = peak;
    visit_named(visit, {"flops", "name"}, flops, name);
}

template <typename Visit>
void describe(Visit& visit, Like<GpuFacts> auto& gpu) {
    auto& [uuid, product, pci, bridge, numa_node, compute, power_limit] = gpu;
    visit_named(visit, {"uuid", "product", "pci", "bridge"}, uuid, product, pci, bridge);
    visit(Member{.name = "numa_node", .written = Written::index_or_none}, numa_node);
    visit_named(visit, {"compute", "power_limit_watts"}, compute, power_limit);
}

template <typename Visit>
void describe(Visit& visit, Like<GpuSoftware> auto& software) {
    auto& [driver, cuda, nccl] = software;
    visit_named(visit, {"driver", "cuda", "nccl"}, driver, cuda, nccl);
}

template <typename Visit>
void describe(Visit& visit, Like<MeasuredProfile> auto& profile) {
    auto& [kind, driver, build, bf16_flops, text] = profile;
    visit_named(visit, {"kind", "driver", "build", "bf16_flops", "text"}, kind, driver, build,
                bf16_flops, text);
}

template <typename Visit>
void describe(Visit& visit, Like<DeviceFitness> auto& device) {
    auto& [index, unfit, lost] = device;
    visit_named(visit, {"index", "unfit", "lost"}, index, unfit, lost);
}

template <typename Visit>
void describe(Visit& visit, Like<DevicesReport> auto& report) {
    auto& [devices] = report;
    visit(named("devices"), devices);
}

template <typename Visit>
void describe(Visit& visit, Like<DeviceInfo> auto& device) {
    auto& [index, kind, memory, fp32, bf16, num_threads, host_memory, unfit, lost, gpu] = device;
    visit_named(visit,
                {"index", "kind", "memory_bytes", "fp32", "bf16", "threads", "host_memory_bytes",
                 "unfit", "lost", "gpu"},
                index, kind, memory, fp32, bf16, num_threads, host_memory, unfit, lost, gpu);
}

template <typename Visit>
void describe(Visit& visit, Like<DataAddress> auto& data) {
    auto& [address, network] = data;
    visit_named(visit, {"address", "network"}, address, network);
}

template <typename Visit>
void describe(Visit& visit, Like<Inventory> auto& inventory) {
    auto& [hostname, os, cpu_model, num_cores, memory, devices, data_address, http_address,
           software] = inventory;
    visit_named(visit,
                {"hostname", "os", "cpu_model", "cores", "memory_bytes", "devices", "data_address",
                 "http_address", "software"},
                hostname, os, cpu_model, num_cores, memory, devices, data_address, http_address,
                software);
}

template <typename Visit>
void describe(Visit& visit, Like<GpuUse> auto& gpu) {
    auto& [temperature, watts, joules, throttled] = gpu;
    visit_named(visit, {"temperature_celsius", "watts", "joules", "throttled"}, temperature, watts,
                joules, throttled);
}

template <typename Visit>
void describe(Visit& visit, Like<RankStatus> auto& status) {
    auto& [rank, device, running, training, exited, exit_code, exit_signal, error, step, phase,
           last_collective, entered, left, waits_for, quiet, longest_quiet, suspended, exit_order,
           gpu] = status;
    visit(named("rank"), rank);
    visit(named("device"), device);
    visit(named("running"), running);
    visit(named("training"), training);
    visit(named("exited"), exited);
    visit(named("exit_code"), exit_code);
    visit(named("exit_signal"), exit_signal);
    visit(named("error"), error);
    visit(named("step"), step);
    visit(named("phase"), phase);
    visit(named("last_collective"), last_collective);
    visit(named("collectives_entered"), entered);
    visit(named("collectives_left"), left);
    visit(Member{.name = "waits_for", .written = Written::index_or_none}, waits_for);
    visit(named("quiet_seconds"), quiet);
    visit(named("longest_quiet_seconds"), longest_quiet);
    visit(named("suspended"), suspended);
    visit(named("exit_order_mono_nanos"), exit_order);
    visit(named("gpu"), gpu);
}

template <typename Visit>
void describe(Visit& visit, Like<AttemptStatus> auto& status) {
    auto& [epoch, job, ranks, processes_left, checkpoint_step, checkpoint_path, stages_done,
           launch_error] = status;
    visit_named(visit,
                {"epoch", "job_id", "ranks", "processes_left", "checkpoint_step", "checkpoint_path",
                 "stages_done", "launch_error"},
                epoch, job, ranks, processes_left, checkpoint_step, checkpoint_path, stages_done,
                launch_error);
}

template <typename Visit>
void describe(Visit& visit, Like<RankLaunch> auto& launch) {
    auto& [rank, device] = launch;
    visit_named(visit, {"rank", "device"}, rank, device);
}

// A plan travels in its attempt, without its placement, as `ranks` lists the node's ranks, and
// without its prediction and rates.
template <typename Visit>
void describe(Visit& visit, Like<LaunchAttempt> auto& launch) {
    auto& [epoch, job, spec, plan, ranks, checkpoint_dir, owner, yaml, data_address] = launch;
    auto& [mesh, zero, placement, memory, network, timeout, predicted, rates] = plan;
    visit(named("epoch"), epoch);
    visit(named("job_id"), job);
    visit(named("spec"), spec);
    visit(named("mesh", Presence::sent), mesh);
    visit(named("zero"), zero);
    visit(named("memory", Presence::sent), memory);
    visit(named("network"), network);
    visit(named("collective_timeout_seconds"), timeout);
    visit(named("ranks"), ranks);
    visit(named("checkpoint_dir"), checkpoint_dir);
    visit(named("owner"), owner);
    visit(named("yaml"), yaml);
    visit(named("data_address"), data_address);
}

template <typename Visit>
void describe(Visit& visit, Like<RootInfo> auto& root) {
    auto& [name, path, mount, problem, writable, free, write_per_second] = root;
    visit_named(
        visit,
        {"name", "path", "mount", "problem", "writable", "free_bytes", "write_bytes_per_second"},
        name, path, mount, problem, writable, free, write_per_second);
}

template <typename Visit>
void describe(Visit& visit, Like<Hello> auto& hello) {
    auto& [protocol, build, node, cluster, highest_epoch, boot_id, inventory, attempts, launches,
           roots, probe_port, machine, network, profiles, data_addresses] = hello;
    visit_named(visit,
                {"protocol", "build", "node_id", "cluster_id", "highest_epoch", "boot_id",
                 "inventory", "attempts", "launches", "roots", "probe_port", "machine", "network",
                 "profiles", "data_addresses"},
                protocol, build, node, cluster, highest_epoch, boot_id, inventory, attempts,
                launches, roots, probe_port, machine, network, profiles, data_addresses);
}

template <typename Visit>
void describe(Visit& visit, Like<Pong> auto& pong) {
    auto& [nonce] = pong;
    visit(named("nonce"), nonce);
}

template <typename Visit>
void describe(Visit& visit, Like<CommandRefused> auto& refused) {
    auto& [epoch, reason] = refused;
    visit_named(visit, {"epoch", "reason"}, epoch, reason);
}

template <typename Visit>
void describe(Visit& visit, Like<RootsReport> auto& report) {
    auto& [roots] = report;
    visit(named("roots"), roots);
}

template <typename Visit>
void describe(Visit& visit, Like<FileWanted> auto& file) {
    auto& [use, path] = file;
    visit_named(visit, {"use", "path"}, use, path);
}

template <typename Visit>
void describe(Visit& visit, Like<FileFacts> auto& facts) {
    auto& [use, path, problem, root, below, index, parameters, free] = facts;
    visit_named(visit,
                {"use", "path", "problem", "root", "below", "index", "parameters", "free_bytes"},
                use, path, problem, root, below, index, parameters, free);
}

template <typename Visit>
void describe(Visit& visit, Like<FilesChecked> auto& checked) {
    auto& [key, files] = checked;
    visit_named(visit, {"key", "files"}, key, files);
}

template <typename Visit>
void describe(Visit& visit, Like<RootProbed> auto& probed) {
    auto& [root, nonce, step, found, problem] = probed;
    visit_named(visit, {"root", "nonce", "step", "found", "problem"}, root, nonce, step, found,
                problem);
}

template <typename Visit>
void describe(Visit& visit, Like<BandwidthSample> auto& sample) {
    auto& [streams, rate, bytes, seconds, loss] = sample;
    visit_named(visit, {"streams", "gbit_per_second", "bytes", "seconds", "loss"}, streams, rate,
                bytes, seconds, loss);
}

template <typename Visit>
void describe(Visit& visit, Like<InsideSample> auto& sample) {
    auto& [from, to, rate, latency, bytes, seconds] = sample;
    visit_named(visit, {"from", "to", "gbit_per_second", "latency_seconds", "bytes", "seconds"},
                from, to, rate, latency, bytes, seconds);
}

template <typename Visit>
void describe(Visit& visit, Like<BridgeSample> auto& sample) {
    auto& [name, devices, up, down] = sample;
    visit_named(visit, {"name", "devices", "up_gbit_per_second", "down_gbit_per_second"}, name,
                devices, up, down);
}

template <typename Visit>
void describe(Visit& visit, Like<ProbeReport> auto& report) {
    auto& [id, error, samples, latency, jitter, inside, bridges] = report;
    visit_named(
        visit, {"id", "error", "samples", "latency_seconds", "jitter_seconds", "inside", "bridges"},
        id, error, samples, latency, jitter, inside, bridges);
}

template <typename Visit>
void describe(Visit& visit, Like<HelloReply> auto& reply) {
    auto& [cluster, protocol, ping_interval] = reply;
    visit_named(visit, {"cluster_id", "protocol", "ping_seconds"}, cluster, protocol,
                ping_interval);
}

template <typename Visit>
void describe(Visit& visit, Like<Ping> auto& ping) {
    auto& [nonce] = ping;
    visit(named("nonce"), nonce);
}

template <typename Visit>
void describe(Visit& visit, Like<StopAttempt> auto& stop) {
    auto& [epoch, mode, grace] = stop;
    visit_named(visit, {"epoch", "now", "grace_seconds"}, epoch, mode, grace);
}

template <typename Visit>
void describe(Visit& visit, Like<ForgetAttempt> auto& forget) {
    auto& [epoch] = forget;
    visit(named("epoch"), epoch);
}

template <typename Visit>
void describe(Visit& visit, Like<CheckFiles> auto& check) {
    auto& [key, files] = check;
    visit_named(visit, {"key", "files"}, key, files);
}

template <typename Visit>
void describe(Visit& visit, Like<ProbeRoot> auto& probe) {
    auto& [root, nonce, step] = probe;
    visit_named(visit, {"root", "nonce", "step"}, root, nonce, step);
}

template <typename Visit>
void describe(Visit& visit, Like<ExpectProbe> auto& expect) {
    auto& [nonce, valid] = expect;
    visit_named(visit, {"nonce", "valid_seconds"}, nonce, valid);
}

template <typename Visit>
void describe(Visit& visit, Like<RunProbe> auto& run) {
    auto& [id, kind, peer, address, port, nonce, streams, each] = run;
    visit_named(visit,
                {"id", "kind", "peer", "address", "port", "nonce", "streams", "each_seconds"}, id,
                kind, peer, address, port, nonce, streams, each);
}

// The fields of WorkerMessage and ControllerMessage, in the order of the variants.
constexpr const char* kWorkerMessages[] = {"hello", "pong",   "status", "refused", "roots",
                                           "files", "probed", "probe",  "devices"};
constexpr const char* kControllerMessages[] = {"hello",      "ping",         "launch",
                                               "stop",       "forget",       "check_files",
                                               "probe_root", "expect_probe", "run_probe"};
static_assert(std::size(kWorkerMessages) == std::variant_size_v<WorkerMessage>);
static_assert(std::size(kControllerMessages) == std::variant_size_v<ControllerMessage>);

}  // namespace rm
