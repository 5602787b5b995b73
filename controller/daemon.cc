#include "controller/daemon.h"

#include <grpcpp/impl/codegen/service_type.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include "base/random.h"
#include "controller/access.h"
#include "controller/core/apply.h"
#include "controller/core/event.h"
#include "controller/http/routes.h"
#include "controller/loops/audit_loop.h"
#include "controller/loops/clock_loop.h"
#include "controller/loops/goodput_loop.h"
#include "controller/loops/measure_loop.h"
#include "controller/loops/scheduler_loop.h"
#include "controller/loops/survey_loop.h"
#include "controller/loops/upkeep_loop.h"
#include "controller/ops/jobs/step_samples.h"
#include "controller/rpc/services.h"
#include "controller/store/backup.h"
#include "controller/store/control_store.h"
#include "planner/child/planning_child.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr Seconds kShutdownGrace{0.5};
constexpr const char* kInfoFile = "controller.json";

std::uint64_t random_number() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

// Forwards the output of the core.
class Wiring final : public ControlListener {
public:
    Wiring(SessionRegistry& sessions, FleetMetrics& metrics, UpdateSignal& updates,
           AuditSink& audit, const std::function<void()>& on_life)
        : sessions_(sessions),
          metrics_(metrics),
          updates_(updates),
          audit_(audit),
          on_life_(on_life) {}

    // Set before the first input and reset before the scheduler ends.
    void set_scheduler(SchedulerLoop* scheduler) {
        const std::lock_guard lock(mutex_);
        scheduler_ = scheduler;
    }

    void send(const NodeId& node, NodeCommand command) override {
        std::visit([&](auto& inner) { sessions_.send(node, std::move(inner)); }, command);
    }
    void request_plan() override {
        const std::lock_guard lock(mutex_);
        if (scheduler_ != nullptr) scheduler_->request();
    }
    void committed(const std::vector<Outcome>& outcomes) override {
        for (const Outcome& outcome : outcomes) {
            metrics_.observe(outcome.transitions);
            for (const Transition& transition : outcome.transitions)
                log(transition);
            for (const AuditEvent& event : outcome.events)
                log(event);
            for (AuditEntry& row : worker_audit(outcome))
                audit_.record(std::move(row));
        }
        updates_.notify();
    }
    void waits(const std::string& reason) override {
        if (on_life_) on_life_();
        log_event(LogLevel::warning, "tables_are_locked", {{"reason", reason}});
    }

private:
    static void log(const Transition& t) {
        log_event(LogLevel::info, "job_state",
                  {{"job", t.job}, {"from", to_string(t.from)}, {"to", to_string(t.to)}});
    }
    static void log(const AuditEvent& event) {
        if (event.kind == "attempt.rank_failed") {
            log_event(LogLevel::warning, "rank_failed",
                      {{"subject", event.subject}, {"fields", to_json(event.fields)}});
        } else if (event.kind.starts_with("node.")) {
            log_event(LogLevel::info, "node", {{"event", event.kind}, {"subject", event.subject}});
        }
    }

    SessionRegistry& sessions_;
    FleetMetrics& metrics_;
    UpdateSignal& updates_;
    AuditSink& audit_;
    const std::function<void()>& on_life_;
    std::mutex mutex_;
    SchedulerLoop* scheduler_ = nullptr;
};

struct Stores {
    std::unique_ptr<SpaceGuard> space;
    std::unique_ptr<Store> control;
    std::unique_ptr<TelemetryStore> telemetry;
    std::unique_ptr<TelemetryReader> reader;
    std::unique_ptr<SurveyStore> surveys;
    std::unique_ptr<GoodputStore> goodput;
    std::unique_ptr<AuditStore> audit;
    std::unique_ptr<AuditReader> audit_reader;
};

// Adds advice to an error about tables that cannot be read.
Error advised(Error error, const StateDir& directory) {
    if (error.code != ErrorCode::data_loss) return error;
    error.message += format("; put a backup in its place: {}", restore_advice(directory.path()));
    return error;
}

Result<Stores> open_stores(const StateDir& directory, const DaemonOptions& options) {
    const TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    Stores stores;
    RM_TRY(stores.space, SpaceGuard::open(directory.path(), options.space));
    auto control = open_control_store(directory.file("control.db"), stores.space.get());
    if (!control) return advised(control.error(), directory);
    stores.control = *std::move(control);
    RM_TRY(stores.telemetry, TelemetryStore::open(paths, options.rank_log_cap, step_samples));
    RM_TRY(stores.reader, TelemetryReader::open(paths, step_samples));
    RM_TRY(stores.surveys, SurveyStore::open(paths.database));
    RM_TRY(stores.goodput, GoodputStore::open(paths.database));
    const std::string audit = directory.file("audit.db");
    RM_TRY(stores.audit, AuditStore::open(audit));
    RM_TRY(stores.audit_reader, AuditReader::open(audit));
    return stores;
}

Result<State> load_state(Store& store, const StateDir& directory, const DaemonOptions& options,
                         WallTime now) {
    auto loaded = store.load();
    if (!loaded) return advised(loaded.error(), directory);
    State state = *std::move(loaded);
    if (state.cluster.empty()) RM_RETURN_IF_ERROR(check_may_found(directory.path()));
    rebuild_indexes(state, now);
    check_invariants(state);
    state.checkpoint_root = directory.file("checkpoints");
    state.max_bypass = options.max_bypass;
    state.prices = options.prices;
    return state;
}

// join.db may be older than the tables, or lost: they know which nodes were removed.
Result<std::unique_ptr<JoinBook>> open_join_book(const StateDir& directory, JoinOptions options,
                                                 const State& state) {
    RM_TRY(auto store, JoinStore::open(directory.file("join.db")));
    RM_TRY(auto book, JoinBook::open(std::move(store), std::move(options), random_number));
    for (const auto& [id, node] : state.nodes) {
        if (node.removed) book->deny(id);
    }
    return book;
}

// The place that the certificate names, at the first TCP address that listens.
Result<JoinPlace> join_place(const std::optional<KeyPair>& tls,
                             const std::vector<std::string>& listeners) {
    if (!tls) {
        return make_error(ErrorCode::failed_precondition,
                          "machines join over TLS alone: start the controller with --tls-cert and "
                          "--tls-key");
    }
    JoinPlace place;
    RM_TRY(const std::string authority, authority_in(tls->certificate));
    RM_TRY(place.fingerprint, fingerprint_of(authority));
    RM_TRY(const std::string host, first_host_of(tls->certificate));
    for (const std::string& listener : listeners) {
        const auto address = parse_host_port(listener);
        if (listener.starts_with("unix:") || !address) continue;
        place.address = to_string(HostPort{host, address->port});
        return place;
    }
    return make_error(ErrorCode::failed_precondition,
                      "no TCP address listens: start the controller with --listen HOST:PORT");
}

// Continues from the results of earlier surveys.
Result<SurveyCore> load_surveys(SurveyStore& store, const SurveyOptions& options) {
    RM_TRY(LinkBook book, store.load());
    RM_TRY(const std::int64_t last, store.last_survey());
    return SurveyCore(options, std::move(book), last);
}

// The book keeps the current alarms; the tables have none.
void take_alarms(State& state, const LinkBook& book) {
    for (const LinkEnds& ends : book.degraded()) {
        const LinkState& link = book.links.at(ends);
        state.degraded_links[ends] = {link.baseline, link.bandwidth, *link.degraded};
    }
}

Result<std::vector<NodeId>> placement_of(const ControlLoop& control, Epoch epoch) {
    return control.read([&](const State& state) -> Result<std::vector<NodeId>> {
        const Attempt* attempt = find_attempt(state, epoch);
        if (attempt == nullptr || is_terminal(attempt->state)) {
            return make_error(ErrorCode::failed_precondition, "attempt {} {}", epoch,
                              attempt == nullptr ? "is not known here" : "has ended");
        }
        std::vector<NodeId> nodes;
        for (const RankRecord& rank : attempt->ranks)
            nodes.push_back(rank.device.node);
        return nodes;
    });
}

// A submission asks twice at most, and clients wait 20 s for an answer.
constexpr Seconds kCallerWaits{9};
// Without the search, which a second question leaves out, the detail of a plan takes moments.
constexpr Seconds kDetailWaits{16};

std::string info_json(const std::vector<std::string>& grpc, const std::string& http) {
    std::string text = format("{{\"pid\":{},\"grpc\":[", ::getpid());
    for (const std::string& address : grpc) {
        if (&address != &grpc.front()) text += ',';
        append_json_string(text, address);
    }
    text += "],\"http\":";
    append_json_string(text, http);
    return text + "}\n";
}

// Logs a risk that docs/security.md describes and that is easily overlooked.
void warn_of_plain_text(const DaemonOptions& options, const std::vector<std::string>& addresses) {
    if (options.tls || !options.credentials.tokens.empty() || ::geteuid() != 0) return;
    for (const std::string& address : addresses) {
        if (address.starts_with("unix:")) continue;
        log_event(LogLevel::warning, "open_to_all_users",
                  {{"address", address},
                   {"reason",
                    "every user of this machine is an admin here, and this controller runs as "
                    "root; --listen unix:PATH or --tokens FILE keeps others out"}});
    }
}

// Members end in reverse order: the servers first, the stores last.
class RunningDaemon final : public Daemon {
public:
    RunningDaemon(DaemonOptions options, StateDir directory, Stores stores, State state,
                  SurveyCore surveys, std::unique_ptr<JoinBook> join,
                  std::unique_ptr<Authenticator> authenticator)
        : options_(std::move(options)),
          directory_(std::move(directory)),
          stores_(std::move(stores)),
          join_(std::move(join)),
          authenticator_(std::move(authenticator)),
          metrics_(options_.version),
          wiring_(sessions_, metrics_, updates_, audit_, options_.on_life),
          control_(std::move(state), {*stores_.control, clock_, wiring_, options_.on_fatal}),
          discovery_(options_.discovery, control_, clock_),
          surveys_(std::move(surveys), {control_, control_, sessions_, *stores_.surveys, clock_}),
          scheduler_(
              control_, clock_,
              [this](const std::vector<NodeId>& nodes) { return surveys_.graph(nodes); },
              make_planner(options_.planner)),
          curve_files_(*stores_.telemetry, step_samples, directory_.file("curves")),
          telemetry_(*stores_.telemetry, updates_, *stores_.space, clock_, &curve_files_),
          upkeep_({.database = directory_.file("control.db"),
                   .backups = directory_.file("backups"),
                   .on_fatal = options_.on_fatal},
                  *stores_.space, clock_),
          ops_{control_,
               *stores_.reader,
               updates_,
               clock_,
               random_number,
               *stores_.space,
               make_planner(options_.planner, {.timeout = kCallerWaits}),
               [this](const std::vector<NodeId>& nodes) { return surveys_.graph(nodes); },
               make_detailer(options_.planner, {.timeout = kDetailWaits}),
               [this] { return discovery_.view(); }},
          exchange_([this](Epoch epoch) { return placement_of(control_, epoch); }),
          routes_({ops_, surveys_, metrics_, rpc_metrics_, goodput_}, {surveys_, *stores_.surveys},
                  gatekeeper_, options_.metrics) {
        wiring_.set_scheduler(&scheduler_);
    }

    ~RunningDaemon() override {
        std::remove(directory_.file(kInfoFile).c_str());
        sessions_.close();
        http_.reset();
        if (grpc_) grpc_->shutdown(kShutdownGrace);
        wiring_.set_scheduler(nullptr);
    }

    Status serve() {
        RM_TRY(session_.cluster, found_cluster());
        upkeep_.begin();
        clock_loop_ = std::make_unique<ClockLoop>(control_);
        measure_loop_ = std::make_unique<MeasureLoop>(ops_);
        goodput_loop_ = std::make_unique<GoodputLoop>(ops_, *stores_.goodput, goodput_);
        if (!options_.http.empty()) {
            RM_TRY(http_,
                   HttpServer::start(
                       options_.http,
                       [this](const HttpRequest& request) { return routes_.handle(request); }, {},
                       options_.tls));
            routes_.set_address(http_->address());
        }
        services_.push_back(make_job_service(ops_, gatekeeper_));
        services_.push_back(make_node_service(ops_, {sessions_, *join_}));
        services_.push_back(make_join_service(*join_, clock_, gatekeeper_));
        services_.push_back(make_token_service(*join_, clock_, gatekeeper_, [this] {
            return join_place(options_.tls, grpc_->addresses());
        }));
        services_.push_back(make_topology_service(ops_, surveys_, *stores_.surveys));
        services_.push_back(make_admin_service(audit_, *stores_.audit_reader, directory_.path()));
        services_.push_back(make_worker_service(session_, ops_, telemetry_, surveys_, gatekeeper_));
        services_.push_back(make_rendezvous_service(exchange_, control_, gatekeeper_));
        std::vector<grpc::Service*> services;
        for (const auto& service : services_)
            services.push_back(service.get());
        RM_TRY(grpc_, GrpcServer::start(options_.listen, services,
                                        {.tls = options_.tls, .gatekeeper = &gatekeeper_}));
        RM_RETURN_IF_ERROR(write_file_atomically(directory_.file(kInfoFile),
                                                 info_json(grpc_->addresses(), http_address())));
        for (const std::string& address : grpc_->addresses()) {
            log_event(
                LogLevel::info, "listening",
                {{"address", address}, {"http", http_address()}, {"cluster", session_.cluster}});
        }
        warn_of_plain_text(options_, grpc_->addresses());
        return {};
    }

    const std::vector<std::string>& grpc_addresses() const override { return grpc_->addresses(); }
    std::string http_address() const override { return http_ ? http_->address() : ""; }
    void prove_life() override {
        if (options_.on_life) control_.prove_life(options_.on_life);
    }

private:
    Result<ClusterId> found_cluster() {
        const auto current = [&] {
            return control_.read([](const State& state) { return state.cluster; });
        };
        if (!current().empty()) {
            note_restore();
            // The first input after a start derives the commands that the tables still need.
            control_.post(CommandsDue{});
            return current();
        }
        control_.post(FoundCluster{{format("{:016x}", random_number())}});
        for (std::uint64_t seen = updates_.count(); current().empty(); seen = updates_.count()) {
            updates_.wait(seen, Seconds{0.1});
        }
        return current();
    }

    // Reports restored tables to the core once, before any other input.
    void note_restore() {
        const std::string marker = restore_marker(directory_.path());
        if (::access(marker.c_str(), F_OK) != 0) return;
        const auto restored = [&] {
            return control_.read([](const State& state) { return state.restored; });
        };
        const WallTime before = restored();
        control_.post(Restored{});
        for (std::uint64_t seen = updates_.count(); restored() == before; seen = updates_.count())
            updates_.wait(seen, Seconds{0.1});
        std::remove(marker.c_str());
        log_event(LogLevel::warning, "restored",
                  {{"cluster", control_.read([](const State& s) { return s.cluster; })}});
    }

    const DaemonOptions options_;
    const StateDir directory_;
    const SystemClock clock_;
    Stores stores_;
    AuditLoop audit_{*stores_.audit};
    const std::unique_ptr<JoinBook> join_;
    std::unique_ptr<Authenticator> authenticator_;
    RpcMetrics rpc_metrics_;
    const Gatekeeper gatekeeper_{*authenticator_, access_table(), audit_, clock_, &rpc_metrics_};
    UpdateSignal updates_;
    SessionRegistry sessions_;
    FleetMetrics metrics_;
    Wiring wiring_;
    ControlLoop control_;
    DiscoveryLoop discovery_;
    SurveyLoop surveys_;
    SchedulerLoop scheduler_;
    CurveFiles curve_files_;
    TelemetryLoop telemetry_;
    UpkeepLoop upkeep_;
    OpsContext ops_;
    ExchangeTable exchange_;
    SessionContext session_{
        control_, sessions_, {}, options_.session, [this](const NodeId& node, ProbeReport report) {
            surveys_.probed(node, std::move(report));
        }};
    GoodputBook goodput_;
    HttpRoutes routes_;
    std::unique_ptr<ClockLoop> clock_loop_;
    std::unique_ptr<MeasureLoop> measure_loop_;
    std::unique_ptr<GoodputLoop> goodput_loop_;
    std::unique_ptr<HttpServer> http_;
    std::vector<std::unique_ptr<grpc::Service>> services_;
    std::unique_ptr<GrpcServer> grpc_;
};

}  // namespace

Result<std::string> restore_state(const Backups& backups, const std::string& state_dir) {
    RM_TRY(const StateDir directory, StateDir::open(state_dir));
    RM_TRY(const std::string aside,
           restore_databases(backups, directory.path(), SystemClock().wall()));
    const std::string both = backups.telemetry.empty()
                                 ? backups.control
                                 : format("{} and {}", backups.control, backups.telemetry);
    if (aside.empty()) return format("restored {} to {}", both, directory.path());
    return format("restored {} to {}; what was there is kept as {}", both, directory.path(), aside);
}

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
    RM_TRY(StateDir directory, StateDir::open(options.state_dir));
    RM_TRY(Stores stores, open_stores(directory, options));
    RM_TRY(State state, load_state(*stores.control, directory, options, SystemClock().wall()));
    RM_TRY(auto join, open_join_book(directory, options.join, state));
    RM_TRY(auto authenticator, Authenticator::open(options.credentials, join.get()));
    RM_TRY(SurveyCore surveys, load_surveys(*stores.surveys, options.survey));
    take_alarms(state, surveys.book());
    auto daemon = std::make_unique<RunningDaemon>(
        std::move(options), std::move(directory), std::move(stores), std::move(state),
        std::move(surveys), std::move(join), std::move(authenticator));
    RM_RETURN_IF_ERROR(daemon->serve());
    return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace rm
