#include "worker/daemon/worker_daemon.h"

#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "service/grpc/grpc_util.h"
#include "service/http/http_server.h"
#include "service/log.h"
#include "service/machine.h"
#include "service/security/server_chain.h"
#include "service/state_dir.h"
#include "worker/agent/attempts.h"
#include "worker/daemon/build_hash.h"
#include "worker/daemon/data_address.h"
#include "worker/daemon/identity.h"
#include "worker/daemon/offered.h"
#include "worker/daemon/session_actions.h"
#include "worker/inventory/gpu_use.h"
#include "worker/inventory/inventory.h"
#include "worker/join/join.h"
#include "worker/join/renewal.h"
#include "worker/metrics/worker_metrics.h"
#include "worker/probe/gpu_probe.h"
#include "worker/probe/probe_server.h"
#include "worker/probe/prober.h"
#include "worker/roots/roots_agent.h"
#include "worker/rpc/grpc_rendezvous.h"
#include "worker/rpc/session_dial.h"
#include "worker/rpc/telemetry_sender.h"

namespace rm {
namespace {

constexpr Seconds kLookInterval{0.2};
// Beyond the ranks' grace: time for the kill to take effect and for its report to be delivered.
constexpr Seconds kStopMargin{10};
constexpr Seconds kHandOver{3};

// Blocks SIGTERM and SIGINT until the daemon takes them; call it before any thread exists.
class StopSignals {
public:
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGTERM);
        sigaddset(&set_, SIGINT);
        ::sigprocmask(SIG_BLOCK, &set_, nullptr);
        ::signal(SIGPIPE, SIG_IGN);
    }
    bool take() const {
        const timespec now{};
        return ::sigtimedwait(&set_, nullptr, &now) > 0;
    }
    // One has come and is not taken.
    bool is_pending() const {
        sigset_t pending{};
        ::sigpending(&pending);
        return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
    }

private:
    sigset_t set_{};
};

using Profiles = std::vector<KeptFile>;

RankTerms terms_of(const WorkerOptions& options, const Offered& offered, const Profiles& profiles) {
    RankTerms terms{.orphan = options.orphan,
                    .command = {"/proc/self/exe", "rank"},
                    .ports = options.ports,
                    .memory = offered.memory_of_rank};
    // How fast a CPU is depends on what else runs there: no rank judges it by its profile.
    for (const KeptFile& kept : profiles) {
        if (kept.profile.kind != "cpu") terms.profiles[kept.profile.kind] = kept.path;
    }
    return terms;
}

// Takes up to a minute a precision where devices of a new kind are offered; `ringmaster up` waits
// for that. Those that a worker offers are alike; GPUs compute in bf16.
Result<Profiles> profiles_of(const WorkerOptions& options, const StateDir& state,
                             const Inventory& inventory, const StopSignals& signals) {
    const std::string& kind = inventory.devices.front().kind;
    std::vector<Precision> precisions = {Precision::bf16};
    if (kind == "cpu") precisions.push_back(Precision::fp32);
    Profiles profiles;
    for (const Precision precision : precisions) {
        RM_TRY(auto kept, measured_profiles(
                              inventory.devices,
                              {.mode = options.profile,
                               .dir = state.file("profiles"),
                               .command = {"/proc/self/exe", "profile"},
                               .driver = profile_driver(inventory, kind, precision),
                               .compute = precision,
                               .num_slots = static_cast<int>(inventory.devices.size()),
                               .build = device_library_build(),
                               .live_attempt = live_attempt_in(state.path()),
                               .why_stopped = [&signals] {
                                   return signals.is_pending() ? "the worker is asked to stop" : "";
                               }}));
        for (auto& [of, file] : kept)
            profiles.push_back(std::move(file));
    }
    return profiles;
}

// The devices on which attempts may have processes.
std::set<int> held_by(const std::vector<Observation>& seen) {
    std::set<int> devices;
    for (const Observation& attempt : seen) {
        if (!attempt.status.processes_left) continue;
        for (const RankStatus& rank : attempt.status.ranks)
            devices.insert(rank.device);
    }
    return devices;
}

std::string addresses_text(const std::vector<DataAddress>& addresses) {
    return join(addresses, ", ", [](const DataAddress& one) { return one.address; });
}

// Null: links of this worker are not measured.
Result<std::unique_ptr<ProbeServer>> probe_server_of(const WorkerOptions& options,
                                                     const std::vector<DataAddress>& at) {
    if (!options.is_probed) return std::unique_ptr<ProbeServer>();
    std::vector<std::string> addresses;
    for (const DataAddress& one : at)
        addresses.push_back(one.address);
    return ProbeServer::start(addresses, options.probe_ports.value_or(options.ports));
}

std::unique_ptr<InsideProbe> inside_probe_of(const StateDir& state, const Offered& offered,
                                             const Attempts& attempts, GpuProbeState& probing) {
    const std::vector<DeviceInfo>& devices = offered.inventory.devices;
    // Emulated devices are memory of the host, as CPU slots are.
    if (!offered.gpus) return make_cpu_inside_probe(static_cast<int>(devices.size()));
    GpuProbeRequest request{.path = state.file("gpu_probe.json")};
    for (const DeviceInfo& device : devices)
        request.gpus.push_back({device.index, device.gpu.uuid, device.gpu.bridge});
    return make_gpu_inside_probe(
        {.request = std::move(request),
         .command = {"/proc/self/exe", "probe"},
         .why_not = [&attempts] { return attempts.any_left() ? "a job runs here" : ""; }},
        probing);
}

std::map<int, Bytes> memory_by_device(const Inventory& inventory) {
    std::map<int, Bytes> memory;
    for (const DeviceInfo& device : inventory.devices)
        memory[device.index] = device.memory;
    return memory;
}

constexpr const char* kIdentity = "identity.json";

// Joins, where that is still to be done, and says whether this node has joined.
Result<bool> join_once(const WorkerOptions& options, const StateDir& state, const NodePki& pki,
                       const StopSignals& signals) {
    if (!options.security.ca.empty()) return false;
    RM_TRY(const bool joined, pki.has_joined());
    if (joined || options.join_token.empty()) return joined;
    if (::access(state.file(kIdentity).c_str(), F_OK) == 0) {
        return make_error(ErrorCode::permission_denied,
                          "{} is the state of a node without its credentials, and a machine that "
                          "joins becomes a new one: give it an empty --state directory",
                          state.path());
    }
    RM_TRY(const std::string fingerprint, parse_fingerprint(options.ca_fingerprint));
    RM_RETURN_IF_ERROR(
        join_cluster({.controller = options.controller,
                      .server_name = options.security.server_name,
                      .name = options.name.empty() ? machine_hostname() : options.name,
                      .token_file = options.join_token,
                      .fingerprint = fingerprint},
                     pki, [&signals] { return signals.is_pending(); }));
    return true;
}

// The authority that this node trusts must be the one that the command line names.
Status check_same_authority(const WorkerOptions& options, const NodePki& pki) {
    if (options.ca_fingerprint.empty()) return {};
    RM_TRY(const std::string wanted, parse_fingerprint(options.ca_fingerprint));
    RM_TRY(const std::string pem, read_small_file(pki.ca()));
    RM_TRY(const std::string known, fingerprint_of(pem));
    if (known == wanted) return {};
    return make_error(ErrorCode::permission_denied,
                      "this node has joined a cluster whose CA has the fingerprint {} ({}), and "
                      "--ca-fingerprint is {}: give it an empty --state directory to join another",
                      known, pki.ca(), wanted);
}

class WorkerDaemon {
public:
    static Status run(WorkerOptions options, const Supervisor& supervisor) {
        const StopSignals signals;
        RM_TRY(const Offered offered, find_offered(options));
        RM_TRY(const StateDir state, StateDir::open(options.state_dir));
        const NodePki pki(state.file(kNodePkiDirectory));
        const auto joined = join_once(options, state, pki, signals);
        if (!joined && joined.error().code == ErrorCode::cancelled) return {};
        if (!joined) return joined.error();
        if (*joined) {
            RM_RETURN_IF_ERROR(check_same_authority(options, pki));
            options.security = pki.security(options.security.server_name);
            if (options.metrics.scrapers.client_ca.empty())
                options.metrics.scrapers.client_ca = pki.ca();
        }
        return serve({{options, signals, supervisor}, offered, state, *joined});
    }

private:
    // How it was started and who may end it.
    struct Frame {
        const WorkerOptions& options;
        const StopSignals& signals;
        const Supervisor& supervisor;
    };
    // The results of a start so far.
    struct Ready {
        Frame frame;
        const Offered& offered;
        const StateDir& state;
        bool has_joined;
    };
    static Status serve(const Ready& ready) {
        const auto& [frame, offered, state, has_joined] = ready;
        const auto& [options, signals, supervisor] = frame;
        const std::string identity_path = state.file(kIdentity);
        RM_TRY(const std::string name, certified_name(options.security));
        RM_TRY(const Identity identity, load_identity(identity_path, name));
        WorkerMetrics metrics(identity.node, {memory_by_device(offered.inventory), state.path()});
        RM_TRY(const auto http,
               serve_metrics(options.metrics, [&metrics] { return metrics.response(); }));
        Inventory inventory = offered.inventory;
        if (http) inventory.http_address = advertised(http->address(), options.metrics);
        RM_TRY(auto made, make_channel(options.controller, options.security));
        const auto channel = std::make_shared<ControllerChannel>(std::move(made));
        const auto rendezvous = make_grpc_rendezvous(channel, identity.node);
        RM_TRY(const auto declared, parse_declared_roots(options.roots));
        RootsAgent roots(declared, state.file("roots.json"));
        RM_TRY(const Profiles profiles, profiles_of(options, state, inventory, signals));
        RM_TRY(const auto attempts, Attempts::open({.state_dir = state.path(),
                                                    .shim_command = {"/proc/self/exe", "shim"},
                                                    .terms = terms_of(options, offered, profiles),
                                                    .inventory = inventory,
                                                    .roots = declared},
                                                   *rendezvous));
        RM_TRY(const auto probes, probe_server_of(options, offered.data_addresses));
        GpuProbeState probing;
        Prober prober(inside_probe_of(state, offered, *attempts, probing));
        RM_RETURN_IF_ERROR(announce(state, identity, options, inventory, offered));
        WorkerDaemon daemon(frame, *attempts, metrics, offered.gpus.get(), probing);
        TelemetrySender telemetry(channel, identity.node, *attempts);
        SessionActions actions(identity_path, identity.node,
                               {*attempts, telemetry, probes.get(), prober, roots});
        const std::vector<RootInfo> known_roots = roots.known();
        complain_about(known_roots);
        WorkerFacts facts = daemon.facts(identity, std::move(inventory), known_roots);
        facts.probe_port = probes ? probes->port() : 0;
        facts.data_addresses = offered.data_addresses;
        for (const KeptFile& kept : profiles)
            facts.profiles.push_back(kept.profile);
        WorkerSession session(WorkerCore(std::move(facts)), actions,
                              dial_over(channel, {options.controller, options.security}),
                              {.seed = std::hash<std::string>{}(identity.node.value)});
        roots.start({.roots = [&](const auto& found) { session.handle(RootsObserved{found}); },
                     .files = [&](const auto& checked) { session.handle(checked); },
                     .probed = [&](const auto& probed) { session.handle(probed); }});
        prober.start([&session](const ProbeReport& report) { session.handle(ProbeDone{report}); });
        session.start();
        const auto renewal =
            has_joined ? daemon.renewal_of(state, identity.node, channel, session) : nullptr;
        daemon.watch_gpus(session);
        daemon.serve(session);
        if (renewal) renewal->stop();
        if (offered.gpus) offered.gpus->stop();
        probing.must_end = true;
        prober.stop();
        roots.stop();
        session.stop();
        ::unlink(state.file("worker.json").c_str());
        return {};
    }

    WorkerDaemon(const Frame& frame, Attempts& attempts, WorkerMetrics& metrics, GpuWatch* gpus,
                 const GpuProbeState& probing)
        : options_(frame.options),
          signals_(frame.signals),
          supervisor_(frame.supervisor),
          attempts_(attempts),
          metrics_(metrics),
          gpus_(gpus),
          probing_(probing) {}

    static Status announce(const StateDir& state, const Identity& identity,
                           const WorkerOptions& options, const Inventory& inventory,
                           const Offered& offered) {
        log_event(LogLevel::info, "worker_started",
                  {{"node", identity.node},
                   {"devices", inventory.devices.size()},
                   {"memory", offered.memory_of_rank * static_cast<int>(inventory.devices.size())},
                   {"data_address", inventory.data_address},
                   {"data_addresses", addresses_text(offered.data_addresses)},
                   {"ports", to_string(options.ports)},
                   {"http", inventory.http_address}});
        const std::string why = why_unreachable(inventory.data_address, options.controller);
        if (!why.empty())
            log_event(LogLevel::warning, "data_address_unreachable", {{"reason", why}});
        if (!offered.unused.empty())
            log_event(LogLevel::warning, "gpus_unused", {{"reason", offered.unused}});
        return write_file_atomically(state.file("worker.json"),
                                     nlohmann::json{{"pid", ::getpid()},
                                                    {"http", inventory.http_address},
                                                    {"node_id", identity.node.value}}
                                         .dump());
    }

    // A file system may be mounted later: the worker starts, and jobs do not use missing roots.
    static void complain_about(const std::vector<RootInfo>& roots) {
        for (const RootInfo& root : roots) {
            if (root.problem.empty()) continue;
            log_event(LogLevel::warning, "root_unusable",
                      {{"root", root.name},
                       {"path", root.path},
                       {"reason", root.problem + "; no job uses this root here until it is a "
                                                 "directory that this worker can read"}});
        }
    }

    WorkerFacts facts(const Identity& identity, Inventory inventory, std::vector<RootInfo> roots) {
        WorkerFacts facts{.node = identity.node,
                          .cluster = identity.cluster,
                          .highest_epoch = identity.highest_epoch,
                          .build = build_hash(),
                          .boot_id = boot_id(),
                          .inventory = std::move(inventory),
                          .roots = std::move(roots),
                          .machine = machine_identity(),
                          .network = network_identity()};
        // The first look returns every report again: metrics must not miss them.
        const std::vector<Observation> seen = attempts_.look(clock_.mono());
        metrics_.start_from(seen, clock_.mono());
        for (const Observation& attempt : seen)
            facts.attempts.push_back(attempt.status);
        facts.launches = attempts_.launches();
        return facts;
    }

    std::unique_ptr<Renewal> renewal_of(const StateDir& state, const NodeId& node,
                                        const std::shared_ptr<ControllerChannel>& channel,
                                        WorkerSession& session) {
        return std::make_unique<Renewal>(Renewal::Parts{
            .pki = NodePki(state.file(kNodePkiDirectory)),
            .node = node,
            .controller = options_.controller,
            .server_name = options_.security.server_name,
            .channel = channel,
            .expires = [this](WallTime until) { metrics_.set_certificate_expiry(until); },
            .renewed = [&session] { session.reconnect(); }});
    }

    void watch_gpus(WorkerSession& session) {
        if (gpus_ == nullptr) return;
        gpus_->start([this, &session](const std::vector<GpuReading>& readings) {
            metrics_.update(readings);
            session.handle(DevicesObserved{fitness_of(readings)});
        });
    }

    void serve(WorkerSession& session) {
        supervisor_.ready();
        while (!signals_.take())
            look(session);
        supervisor_.stopping();
        log_event(LogLevel::info, "worker_stopping", {{"ranks", to_string(options_.orphan.mode)}});
        if (options_.orphan.mode == OrphanMode::stop) stop_ranks(session);
    }

    void look(WorkerSession& session) {
        std::vector<Observation> seen = attempts_.look(clock_.mono());
        metrics_.update(seen, clock_.mono());
        if (gpus_ != nullptr) add_gpus(seen);
        for (const Observation& attempt : seen)
            session.handle(ShimObserved{attempt.status, clock_.mono()});
        report_life(session);
        attempts_.wait(kLookInterval);
    }

    // This loop comes here, and the session is not stuck, as it answers.
    void report_life(WorkerSession& session) {
        const bool connected = session.accepted();
        const char* const words = connected ? "in session with" : "no session with";
        if (connected != told_connected_ &&
            supervisor_.status(format("{} the controller at {}", words, options_.controller)))
            told_connected_ = connected;
        const auto every = supervisor_.alive_every();
        if (!every || clock_.mono() - told_alive_ < *every) return;
        supervisor_.alive();
        told_alive_ = clock_.mono();
    }

    void add_gpus(std::vector<Observation>& seen) {
        gpus_->set_held(probing_.runs ? all_gpus() : held_by(seen));
        std::vector<AttemptStatus*> attempts;
        for (Observation& attempt : seen)
            attempts.push_back(&attempt.status);
        gpu_uses_.add_to(attempts, gpus_->readings());
    }

    std::set<int> all_gpus() const {
        std::set<int> all;
        for (const GpuReading& reading : gpus_->readings())
            all.insert(reading.index);
        return all;
    }

    void stop_ranks(WorkerSession& session) {
        attempts_.stop_all(StopMode::graceful, options_.orphan.grace);
        const MonoTime start = clock_.mono();
        while (attempts_.any_left() &&
               clock_.mono() - start < options_.orphan.grace + kStopMargin) {
            if (signals_.take()) attempts_.stop_all(StopMode::now, {});
            look(session);
        }
        const MonoTime ended = clock_.mono();
        while (!attempts_.drained() && clock_.mono() - ended < kHandOver)
            look(session);
    }

    const WorkerOptions& options_;
    const StopSignals& signals_;
    const Supervisor& supervisor_;
    const SystemClock clock_;
    MonoTime told_alive_;
    std::optional<bool> told_connected_;
    Attempts& attempts_;
    WorkerMetrics& metrics_;
    GpuWatch* const gpus_;  // null: none are offered
    GpuUses gpu_uses_;
    const GpuProbeState& probing_;
};

}  // namespace

Status run_worker(const WorkerOptions& options, const Supervisor& supervisor) {
    return WorkerDaemon::run(options, supervisor);
}

}  // namespace rm
