#include "controller/daemon.h"

#include <grpcpp/impl/codegen/service_type.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <stdexcept>

#include "base/random.h"
#include "controller/core/event.h"
#include "controller/core/invariants.h"
#include "controller/http/routes.h"
#include "controller/loops/clock_loop.h"
#include "controller/loops/scheduler_loop.h"
#include "controller/planning/planning_child.h"
#include "controller/rpc/services.h"
#include "controller/store/control_store.h"
#include "service/grpc_util.h"
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

// Sends what the core wants out to where it belongs.
class Wiring final : public ControlListener {
public:
    Wiring(SessionRegistry& sessions, FleetMetrics& metrics, UpdateSignal& updates)
        : sessions_(sessions), metrics_(metrics), updates_(updates) {}

    // Set before the first input, taken away before the scheduler ends.
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
            for (const Event& event : outcome.events)
                log(event);
        }
        updates_.notify();
    }

private:
    static void log(const Transition& t) {
        log_event(LogLevel::info, "job_state",
                  {{"job", t.job}, {"from", to_string(t.from)}, {"to", to_string(t.to)}});
    }
    static void log(const Event& event) {
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
    std::mutex mutex_;
    SchedulerLoop* scheduler_ = nullptr;
};

// Plans in a child where there is a program for it. What goes wrong there is thrown: the loop makes
// it a reason of every pending job.
Planner make_planner(const std::vector<std::string>& command) {
    if (command.empty()) return plan_trivially;
    return [command](const PlanningSnapshot& snapshot) {
        auto decisions = plan_in_child(command, snapshot);
        if (!decisions) throw std::runtime_error(decisions.error().message);
        return *std::move(decisions);
    };
}

struct Stores {
    std::unique_ptr<Store> control;
    std::unique_ptr<TelemetryStore> telemetry;
    std::unique_ptr<TelemetryReader> reader;
};

Result<Stores> open_stores(const StateDir& directory, Bytes log_cap) {
    const TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    Stores stores;
    RM_TRY(stores.control, open_control_store(directory.file("control.db")));
    RM_TRY(stores.telemetry, TelemetryStore::open(paths, log_cap));
    RM_TRY(stores.reader, TelemetryReader::open(paths));
    return stores;
}

Result<State> load_state(Store& store, const StateDir& directory, WallTime now) {
    RM_TRY(State state, store.load());
    rebuild_indexes(state, now);
    check_invariants(state);
    state.checkpoint_root = directory.file("checkpoints");
    return state;
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

// Members end in reverse order: the servers first, the stores last.
class RunningDaemon final : public Daemon {
public:
    RunningDaemon(DaemonOptions options, StateDir directory, Stores stores, State state)
        : options_(std::move(options)),
          directory_(std::move(directory)),
          stores_(std::move(stores)),
          metrics_(options_.version),
          wiring_(sessions_, metrics_, updates_),
          control_(std::move(state), {*stores_.control, clock_, wiring_, options_.on_fatal}),
          scheduler_(control_, clock_, make_planner(options_.planner)),
          telemetry_(*stores_.telemetry, updates_),
          ops_{control_, *stores_.reader, updates_, clock_, random_number},
          exchange_([this](Epoch epoch) { return placement_of(control_, epoch); }),
          routes_(ops_, metrics_) {
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
        clock_loop_ = std::make_unique<ClockLoop>(control_, clock_);
        if (!options_.http.empty()) {
            RM_TRY(http_, HttpServer::start(options_.http, [this](const HttpRequest& request) {
                       return routes_.handle(request);
                   }));
            routes_.set_address(http_->address());
        }
        services_.push_back(make_job_service(ops_));
        services_.push_back(make_node_service(ops_));
        services_.push_back(make_worker_service(session_, ops_, telemetry_));
        services_.push_back(make_rendezvous_service(exchange_));
        std::vector<grpc::Service*> services;
        for (const auto& service : services_)
            services.push_back(service.get());
        RM_TRY(grpc_, GrpcServer::start(options_.listen, services));
        RM_RETURN_IF_ERROR(write_file_atomically(directory_.file(kInfoFile),
                                                 info_json(grpc_->addresses(), http_address())));
        for (const std::string& address : grpc_->addresses()) {
            log_event(
                LogLevel::info, "listening",
                {{"address", address}, {"http", http_address()}, {"cluster", session_.cluster}});
        }
        return {};
    }

    const std::vector<std::string>& grpc_addresses() const override { return grpc_->addresses(); }
    std::string http_address() const override { return http_ ? http_->address() : ""; }

private:
    Result<ClusterId> found_cluster() {
        const auto current = [&] {
            return control_.read([](const State& state) { return state.cluster; });
        };
        if (!current().empty()) {
            // The first input after a start derives what the tables still want.
            control_.post(CommandsDue{});
            return current();
        }
        control_.post(FoundCluster{{format("{:016x}", random_number())}});
        for (std::uint64_t seen = updates_.count(); current().empty(); seen = updates_.count()) {
            updates_.wait(seen, Seconds{0.1});
        }
        return current();
    }

    const DaemonOptions options_;
    const StateDir directory_;
    const SystemClock clock_;
    Stores stores_;
    UpdateSignal updates_;
    SessionRegistry sessions_;
    FleetMetrics metrics_;
    Wiring wiring_;
    ControlLoop control_;
    SchedulerLoop scheduler_;
    TelemetryLoop telemetry_;
    OpsContext ops_;
    ExchangeTable exchange_;
    SessionContext session_{control_, sessions_, {}, options_.session};
    HttpRoutes routes_;
    std::unique_ptr<ClockLoop> clock_loop_;
    std::unique_ptr<HttpServer> http_;
    std::vector<std::unique_ptr<grpc::Service>> services_;
    std::unique_ptr<GrpcServer> grpc_;
};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
    RM_TRY(StateDir directory, StateDir::open(options.state_dir));
    RM_TRY(Stores stores, open_stores(directory, options.rank_log_cap));
    RM_TRY(State state, load_state(*stores.control, directory, SystemClock().wall()));
    auto daemon = std::make_unique<RunningDaemon>(std::move(options), std::move(directory),
                                                  std::move(stores), std::move(state));
    RM_RETURN_IF_ERROR(daemon->serve());
    return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace rm
