#include "cli/up/cluster.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/words.h"
#include "cli/client/calls.h"

namespace rm {
namespace {

using Json = nlohmann::json;

constexpr Seconds kStartLimit{60};
// A worker measures before it joins: at most a minute in bf16, and CPU slots another in fp32.
constexpr Seconds kMeasureLimit{120};
constexpr Seconds kControllerStopLimit{10};
constexpr Seconds kPoll{0.05};

// The report that a daemon writes once it is listening; null before, and while the file is from an
// earlier run.
Json report_of(const std::string& path, pid_t pid) {
    const auto text = read_small_file(path);
    if (!text) return nullptr;
    Json report = Json::parse(*text, nullptr, false);
    const bool current = report.is_object() && report.value("pid", 0) == pid;
    return current ? report : Json(nullptr);
}

Status died(DaemonProcess& daemon) {
    const auto end = daemon.ended();
    if (!end) return {};
    return make_error(ErrorCode::internal, "{} ended with {}; its last log lines:\n{}",
                      daemon.name(), *end, daemon.last_words());
}

Error interrupted() {
    return make_error(ErrorCode::cancelled, "interrupted");
}

// The devices of worker `i`: each has GPUs of its own, in the machine's order.
std::string offer_of(const ClusterOptions& options, int i) {
    const int count = options.devices_per_worker;
    if (options.device_kind != "cuda") return format("{}:{}", options.device_kind, count);
    std::string numbers;
    for (int gpu = i * count; gpu < (i + 1) * count; ++gpu)
        numbers += format("{}{}", numbers.empty() ? "" : ",", gpu);
    return "cuda:" + numbers;
}

}  // namespace

Result<LocalCluster> LocalCluster::start(const ClusterOptions& options, Signals& signals,
                                         Client::Note note) {
    RM_TRY(StateDir state, StateDir::open(options.state_dir));
    RM_TRY(ClusterPaths paths, make_cluster_paths(state.path(), environment_lookup));
    LocalCluster cluster(std::move(state), std::move(paths), std::move(note));
    RM_RETURN_IF_ERROR(cluster.start_controller(options));
    RM_RETURN_IF_ERROR(cluster.wait_for_controller(signals));
    RM_RETURN_IF_ERROR(cluster.start_workers(options));
    RM_RETURN_IF_ERROR(cluster.wait_for_workers(options, signals));
    return cluster;
}

Status LocalCluster::start_controller(const ClusterOptions& options) {
    RM_TRY(const std::string program, program_beside_this("ringmaster-controller"));
    DaemonProcess::Command command{
        "controller",
        {program, "--state", state_.file("controller"), "--listen", paths_.controller_address()},
        state_.file("controller.log")};
    if (!options.listen.empty()) {
        command.argv.insert(command.argv.end(), {"--listen", options.listen});
    }
    command.argv.insert(command.argv.end(),
                        {"--http", options.http.empty() ? "none" : options.http});
    if (!options.prices.empty())
        command.argv.insert(command.argv.end(), {"--prices", options.prices});
    RM_TRY(DaemonProcess daemon, DaemonProcess::start(command));
    controller_.push_back(std::move(daemon));
    return {};
}

Status LocalCluster::start_workers(const ClusterOptions& options) {
    RM_TRY(const std::string program, program_beside_this("ringmaster-worker"));
    const int slots = options.num_workers * options.devices_per_worker;
    for (int i = 0; i < options.num_workers; ++i) {
        const std::string name = paths_.worker_name(i);
        const DaemonProcess::Command command{
            name,
            {program, "--state", state_.file(name), "--name", name, "--controller",
             paths_.controller_address(), "--devices", offer_of(options, i), "--http",
             options.http.empty() ? "none" : "127.0.0.1:0", "--ports", "0", "--orphan", "stop",
             "--slots-on-machine", std::to_string(slots), "--profile", options.profile},
            state_.file(name + ".log")};
        RM_TRY(DaemonProcess daemon, DaemonProcess::start(command));
        workers_.push_back(std::move(daemon));
    }
    return {};
}

Status LocalCluster::wait_for_controller(Signals& signals) {
    const std::string path = state_.file("controller/controller.json");
    for (Seconds waited; waited < kStartLimit; waited += kPoll) {
        if (signals.take().interrupts > 0) return interrupted();
        RM_RETURN_IF_ERROR(check());
        if (const Json report = report_of(path, controller_[0].pid()); !report.is_null()) {
            file_ = {getpid(), paths_.controller_address(), {}, paths_.socket_dir, {}};
            for (const std::string& address : report.value("grpc", std::vector<std::string>())) {
                if (address != file_.address) file_.grpc.push_back(address);
            }
            file_.daemons.push_back({"controller", controller_[0].pid(), report.value("http", "")});
            RM_TRY(client_, Client::open({file_.address, {}}, note_));
            return {};
        }
        signals.wait_for(kPoll);
    }
    return make_error(ErrorCode::deadline_exceeded,
                      "the controller is not listening after {}; its last log lines:\n{}",
                      kStartLimit, controller_[0].last_words());
}

Status LocalCluster::wait_for_workers(const ClusterOptions& options, Signals& signals) {
    std::size_t ready = 0;
    const Seconds limit = kStartLimit + (options.profile == "off" ? Seconds{} : kMeasureLimit);
    for (Seconds waited; waited < limit; waited += kPoll) {
        if (signals.take().interrupts > 0) return interrupted();
        RM_RETURN_IF_ERROR(check());
        RM_TRY(const Fleet fleet, read_fleet(*client_));
        file_.daemons.resize(1);
        for (const DaemonProcess& worker : workers_) {
            const Json report =
                report_of(state_.file(worker.name() + "/worker.json"), worker.pid());
            if (report.is_null()) break;
            const auto known =
                std::find_if(fleet.nodes.begin(), fleet.nodes.end(), [&](const pb::Node& node) {
                    return node.id() == report.value("node_id", "") && node.session_up() &&
                           node.state() == pb::NODE_STATE_READY;
                });
            if (known == fleet.nodes.end()) break;
            file_.daemons.push_back({worker.name(), worker.pid(), report.value("http", "")});
        }
        ready = file_.daemons.size() - 1;
        if (ready == workers_.size()) return write_cluster_file(state_.path(), file_);
        signals.wait_for(kPoll);
    }
    return make_error(ErrorCode::deadline_exceeded,
                      "{} of {} ready after {}; the last log lines of {}:\n{}", ready,
                      counted(options.num_workers, "worker"), limit, workers_[ready].name(),
                      workers_[ready].last_words());
}

Status LocalCluster::check() {
    for (std::vector<DaemonProcess>* daemons : {&controller_, &workers_}) {
        for (DaemonProcess& daemon : *daemons)
            RM_RETURN_IF_ERROR(died(daemon));
    }
    return {};
}

Status LocalCluster::stop(Seconds grace, Signals& signals) {
    const Status workers = wait_until_gone(workers_, grace, signals);
    const Status controller = wait_until_gone(controller_, kControllerStopLimit, signals);
    file_.pid = 0;
    file_.grpc.clear();
    file_.daemons.clear();
    RM_RETURN_IF_ERROR(write_cluster_file(state_.path(), file_));
    RM_RETURN_IF_ERROR(workers);
    return controller;
}

Status LocalCluster::wait_until_gone(std::vector<DaemonProcess>& daemons, Seconds limit,
                                     Signals& signals) {
    for (DaemonProcess& daemon : daemons)
        daemon.signal(SIGTERM);
    std::string left;
    for (Seconds waited;; waited += kPoll) {
        left.clear();
        for (DaemonProcess& daemon : daemons) {
            if (!daemon.ended()) left += (left.empty() ? "" : ", ") + daemon.name();
        }
        if (left.empty()) return {};
        const bool impatient = signals.take().interrupts > 0;
        if (impatient || limit < waited) break;
        signals.wait_for(kPoll);
    }
    daemons.clear();  // kills
    return make_error(ErrorCode::deadline_exceeded, "killed because it did not stop in time: {}",
                      left);
}

}  // namespace rm
