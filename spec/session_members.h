#pragma once

#include "spec/job_members.h"
#include "spec/session.h"

// The members of the messages between workers and the controller, for every form: see member.h.
// Each has one name in all forms, which states the unit.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<Peak> auto& peak) {
    auto& [flops, name] = peak;
    visit(named("flops"), flops);
    visit(named("name"), name);
}

template <typename Visit>
void describe(Visit& visit, Like<DeviceInfo> auto& device) {
    auto& [index, kind, memory, fp32, bf16, num_threads] = device;
    visit(named("index"), index);
    visit(named("kind"), kind);
    visit(named("memory_bytes"), memory);
    visit(named("fp32"), fp32);
    visit(named("bf16"), bf16);
    visit(named("threads"), num_threads);
}

template <typename Visit>
void describe(Visit& visit, Like<Inventory> auto& inventory) {
    auto& [hostname, os, cpu_model, num_cores, memory, devices, data_address, http_address] =
        inventory;
    visit(named("hostname"), hostname);
    visit(named("os"), os);
    visit(named("cpu_model"), cpu_model);
    visit(named("cores"), num_cores);
    visit(named("memory_bytes"), memory);
    visit(named("devices"), devices);
    visit(named("data_address"), data_address);
    visit(named("http_address"), http_address);
}

template <typename Visit>
void describe(Visit& visit, Like<RankStatus> auto& status) {
    auto& [rank, device, running, training, exited, exit_code, exit_signal, error, step, phase,
           last_collective, entered, left, waits_for, quiet, longest_quiet, suspended, exit_order] =
        status;
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
}

template <typename Visit>
void describe(Visit& visit, Like<AttemptStatus> auto& status) {
    auto& [epoch, job, ranks, processes_left, checkpoint_step, checkpoint_path, stages_done,
           launch_error] = status;
    visit(named("epoch"), epoch);
    visit(named("job_id"), job);
    visit(named("ranks"), ranks);
    visit(named("processes_left"), processes_left);
    visit(named("checkpoint_step"), checkpoint_step);
    visit(named("checkpoint_path"), checkpoint_path);
    visit(named("stages_done"), stages_done);
    visit(named("launch_error"), launch_error);
}

template <typename Visit>
void describe(Visit& visit, Like<RankLaunch> auto& launch) {
    auto& [rank, device] = launch;
    visit(named("rank"), rank);
    visit(named("device"), device);
}

// A plan travels in its attempt, without its placement: `ranks` lists the node's ranks.
template <typename Visit>
void describe(Visit& visit, Like<LaunchAttempt> auto& launch) {
    auto& [epoch, job, spec, plan, ranks, checkpoint_dir, owner, yaml] = launch;
    auto& [mesh, zero, placement, memory, timeout] = plan;
    visit(named("epoch"), epoch);
    visit(named("job_id"), job);
    visit(named("spec"), spec);
    visit(named("mesh", Presence::sent), mesh);
    visit(named("zero"), zero);
    visit(named("memory", Presence::sent), memory);
    visit(named("collective_timeout_seconds"), timeout);
    visit(named("ranks"), ranks);
    visit(named("checkpoint_dir"), checkpoint_dir);
    visit(named("owner"), owner);
    visit(named("yaml"), yaml);
}

template <typename Visit>
void describe(Visit& visit, Like<RootInfo> auto& root) {
    auto& [name, path, mount, problem, writable, free, write_per_second] = root;
    visit(named("name"), name);
    visit(named("path"), path);
    visit(named("mount"), mount);
    visit(named("problem"), problem);
    visit(named("writable"), writable);
    visit(named("free_bytes"), free);
    visit(named("write_bytes_per_second"), write_per_second);
}

template <typename Visit>
void describe(Visit& visit, Like<Hello> auto& hello) {
    auto& [protocol, build, node, cluster, highest_epoch, boot_id, inventory, attempts, launches,
           roots, probe_port, machine, network] = hello;
    visit(named("protocol"), protocol);
    visit(named("build"), build);
    visit(named("node_id"), node);
    visit(named("cluster_id"), cluster);
    visit(named("highest_epoch"), highest_epoch);
    visit(named("boot_id"), boot_id);
    visit(named("inventory"), inventory);
    visit(named("attempts"), attempts);
    visit(named("launches"), launches);
    visit(named("roots"), roots);
    visit(named("probe_port"), probe_port);
    visit(named("machine"), machine);
    visit(named("network"), network);
}

template <typename Visit>
void describe(Visit& visit, Like<Pong> auto& pong) {
    auto& [nonce] = pong;
    visit(named("nonce"), nonce);
}

template <typename Visit>
void describe(Visit& visit, Like<CommandRefused> auto& refused) {
    auto& [epoch, reason] = refused;
    visit(named("epoch"), epoch);
    visit(named("reason"), reason);
}

template <typename Visit>
void describe(Visit& visit, Like<RootsReport> auto& report) {
    auto& [roots] = report;
    visit(named("roots"), roots);
}

template <typename Visit>
void describe(Visit& visit, Like<FileWanted> auto& file) {
    auto& [use, path] = file;
    visit(named("use"), use);
    visit(named("path"), path);
}

template <typename Visit>
void describe(Visit& visit, Like<FileFacts> auto& facts) {
    auto& [use, path, problem, root, below, index, parameters, free] = facts;
    visit(named("use"), use);
    visit(named("path"), path);
    visit(named("problem"), problem);
    visit(named("root"), root);
    visit(named("below"), below);
    visit(named("index"), index);
    visit(named("parameters"), parameters);
    visit(named("free_bytes"), free);
}

template <typename Visit>
void describe(Visit& visit, Like<FilesChecked> auto& checked) {
    auto& [key, files] = checked;
    visit(named("key"), key);
    visit(named("files"), files);
}

template <typename Visit>
void describe(Visit& visit, Like<RootProbed> auto& probed) {
    auto& [root, nonce, step, found, problem] = probed;
    visit(named("root"), root);
    visit(named("nonce"), nonce);
    visit(named("step"), step);
    visit(named("found"), found);
    visit(named("problem"), problem);
}

template <typename Visit>
void describe(Visit& visit, Like<BandwidthSample> auto& sample) {
    auto& [streams, rate, bytes, seconds, loss] = sample;
    visit(named("streams"), streams);
    visit(named("gbit_per_second"), rate);
    visit(named("bytes"), bytes);
    visit(named("seconds"), seconds);
    visit(named("loss"), loss);
}

template <typename Visit>
void describe(Visit& visit, Like<InsideSample> auto& sample) {
    auto& [from, to, rate, latency, bytes, seconds] = sample;
    visit(named("from"), from);
    visit(named("to"), to);
    visit(named("gbit_per_second"), rate);
    visit(named("latency_seconds"), latency);
    visit(named("bytes"), bytes);
    visit(named("seconds"), seconds);
}

template <typename Visit>
void describe(Visit& visit, Like<ProbeReport> auto& report) {
    auto& [id, error, samples, latency, jitter, inside] = report;
    visit(named("id"), id);
    visit(named("error"), error);
    visit(named("samples"), samples);
    visit(named("latency_seconds"), latency);
    visit(named("jitter_seconds"), jitter);
    visit(named("inside"), inside);
}

template <typename Visit>
void describe(Visit& visit, Like<HelloReply> auto& reply) {
    auto& [cluster, protocol, ping_interval] = reply;
    visit(named("cluster_id"), cluster);
    visit(named("protocol"), protocol);
    visit(named("ping_seconds"), ping_interval);
}

template <typename Visit>
void describe(Visit& visit, Like<Ping> auto& ping) {
    auto& [nonce] = ping;
    visit(named("nonce"), nonce);
}

template <typename Visit>
void describe(Visit& visit, Like<StopAttempt> auto& stop) {
    auto& [epoch, mode, grace] = stop;
    visit(named("epoch"), epoch);
    visit(named("now"), mode);
    visit(named("grace_seconds"), grace);
}

template <typename Visit>
void describe(Visit& visit, Like<ForgetAttempt> auto& forget) {
    auto& [epoch] = forget;
    visit(named("epoch"), epoch);
}

template <typename Visit>
void describe(Visit& visit, Like<CheckFiles> auto& check) {
    auto& [key, files] = check;
    visit(named("key"), key);
    visit(named("files"), files);
}

template <typename Visit>
void describe(Visit& visit, Like<ProbeRoot> auto& probe) {
    auto& [root, nonce, step] = probe;
    visit(named("root"), root);
    visit(named("nonce"), nonce);
    visit(named("step"), step);
}

template <typename Visit>
void describe(Visit& visit, Like<ExpectProbe> auto& expect) {
    auto& [nonce, valid] = expect;
    visit(named("nonce"), nonce);
    visit(named("valid_seconds"), valid);
}

template <typename Visit>
void describe(Visit& visit, Like<RunProbe> auto& run) {
    auto& [id, kind, peer, address, port, nonce, streams, each] = run;
    visit(named("id"), id);
    visit(named("kind"), kind);
    visit(named("peer"), peer);
    visit(named("address"), address);
    visit(named("port"), port);
    visit(named("nonce"), nonce);
    visit(named("streams"), streams);
    visit(named("each_seconds"), each);
}

// The fields of WorkerMessage and ControllerMessage, in the order of the variants.
constexpr const char* kWorkerMessages[] = {"hello", "pong",  "status", "refused",
                                           "roots", "files", "probed", "probe"};
constexpr const char* kControllerMessages[] = {"hello",      "ping",         "launch",
                                               "stop",       "forget",       "check_files",
                                               "probe_root", "expect_probe", "run_probe"};
static_assert(std::size(kWorkerMessages) == std::variant_size_v<WorkerMessage>);
static_assert(std::size(kControllerMessages) == std::variant_size_v<ControllerMessage>);

}  // namespace rm
