#include <filesystem>

#include "base/clock.h"
#include "cli/client/calls.h"
#include "cli/input/job_input.h"
#include "cli/show/text.h"
#include "cli/up/cluster.h"
#include "cli/up/observer.h"
#include "cli/verb.h"
#include "service/address.h"

namespace rm {
namespace {

struct UpOptions : VerbOptions {
    int num_workers = add("--workers", num_workers, "How many workers [4]",
                          {.type = "N", .check = whole_number(1, 64)}, 4);
    int devices_per_worker = add("--devices-per-worker", devices_per_worker, "Devices of each [1]",
                                 {.type = "N", .check = whole_number(1, 64)}, 1);
    std::string device_kind =
        add("--device-kind", device_kind, "CPU slots, GPUs, or emulated GPUs [cpu]",
            one_word_of("cpu|cuda|emu"), "cpu");
    std::string profile =
        add("--profile", profile,
            "Measure each kind of GPU once (auto), never (off), or again and emulated ones too "
            "(now) [auto]",
            one_word_of("auto|off|now"), "auto");
    std::string prices =
        add("--prices", prices, "What devices cost (docs/formats/prices.md)", {.type = "FILE"});
    std::string job_file =
        add("--job", job_file, "Run this job file until it ends, then stop", {.type = "FILE"});
    std::string state_dir = add(
        "--state", state_dir,
        "Keep everything in this directory; restart the cluster that is there", {.type = "DIR"});
    std::string listen = add(
        "--listen", listen,
        "gRPC on this loopback address too (port 0: any free one), and HTTP on the port after it",
        {.type = "HOST:PORT"});
    std::string http = add("--http", http, "HTTP on this loopback address", {.type = "HOST:PORT"});
    bool observe =
        add("--observe", observe, "Run Prometheus beside it, with its rules and alerts, and HTTP");
};

constexpr Seconds kObserverGrace{5};
constexpr Seconds kStopGrace{90};  // a checkpoint of every rank on a slow disk

Error about(std::string_view option, const Error& error) {
    return {error.code, format("{}: {}", option, error.message)};
}

Result<ClusterOptions> cluster_options(const UpOptions& options) {
    ClusterOptions cluster{options.state_dir,   options.num_workers, options.devices_per_worker,
                           options.device_kind, options.profile,     options.prices,
                           options.listen,      options.http};
    if (!options.listen.empty()) {
        if (const auto address = parse_loopback(options.listen); !address) {
            return about("--listen", address.error());
        }
        if (options.http.empty()) {
            RM_TRY(cluster.http, http_beside(options.listen));
        }
    }
    if (!cluster.http.empty()) {
        if (const auto address = parse_loopback(cluster.http); !address) {
            return about("--http", address.error());
        }
    }
    if (options.observe && cluster.http.empty()) cluster.http = "127.0.0.1:0";
    return cluster;
}

// up-20260102-030405-1a2b below ~/.local/state/ringmaster.
std::string new_state_dir(WallTime now) {
    return format("{}/up-{}-{}", user_dir(environment_lookup, "XDG_STATE_HOME", ".local/state"),
                  utc_text(now, "%Y%m%d-%H%M%S"), random_request_id().substr(0, 4));
}

void announce(const LocalCluster& cluster, const UpOptions& options, Console& console) {
    for (const std::string& address : cluster.file().grpc) {
        console.out.stream << "grpc " << address << '\n';
    }
    if (const std::string& http = cluster.file().daemons[0].http; !http.empty()) {
        console.out.stream << "http://" << http << "/metrics\n";
    }
    console.out.stream << std::flush;
    console.note(
        format("{} ({}) {} ready. In another terminal, run: ringmaster --state {} ls",
               counted(options.num_workers, "worker"),
               counted(std::int64_t{options.num_workers} * options.devices_per_worker, "device"),
               options.num_workers == 1 ? "is" : "are", cluster.state_dir()));
}

// The observer of a cluster that should have one; says where to look.
Result<std::optional<Observer>> observe(const LocalCluster& cluster, const UpOptions& options,
                                        Console& console) {
    if (!options.observe) return std::optional<Observer>();
    const std::string& http = cluster.file().daemons[0].http;
    RM_TRY(Observer observer, Observer::start(cluster.state_dir() + "/prometheus", http));
    console.out.stream << format("http://{}/\nprometheus http://{}/alerts\n", http,
                                 observer.address())
                       << std::flush;
    console.note(format("Open http://{}/ for runs and curves, http://{}/alerts for alerts", http,
                        observer.address()));
    return std::optional<Observer>(std::move(observer));
}

Result<ExitCode> stay_up(LocalCluster& cluster, Signals& signals, Console& console) {
    console.note("Press Ctrl-C to stop it.");
    for (;;) {
        signals.wait_for(Seconds{3600});
        const int interrupts = signals.take().interrupts;
        RM_RETURN_IF_ERROR(cluster.check());
        if (interrupts == 0) continue;
        RM_RETURN_IF_ERROR(cancel_live_jobs(cluster, signals, console, kStopGrace));
        return ExitCode::interrupted;
    }
}

Result<ExitCode> run_and_stop(const ClusterOptions& options, const UpOptions& asked,
                              const std::optional<pb::JobSpec>& job, Console& console) {
    Signals signals;
    RM_TRY(LocalCluster cluster,
           LocalCluster::start(options, signals,
                               [&console](std::string_view text) { console.note(text); }));
    announce(cluster, asked, console);
    RM_TRY(std::optional<Observer> observer, observe(cluster, asked, console));
    const Result<ExitCode> code =
        job ? run_job(*job, cluster, signals, console) : stay_up(cluster, signals, console);
    if (observer) observer->stop(kObserverGrace);
    const Status stopped = cluster.stop(kStopGrace, signals);
    if (!stopped) console.note("ringmaster: " + stopped.error().message);
    console.note(format("To restart this cluster with its history: `ringmaster up --state {}`",
                        cluster.state_dir()));
    if (code && *code == ExitCode::ok && !stopped) return ExitCode::error;
    return code;
}

Result<ExitCode> run_up(const UpOptions& options, VerbContext& context) {
    auto cluster = cluster_options(options);
    if (!cluster) return complain(context.console, cluster.error(), ExitCode::usage);
    std::optional<pb::JobSpec> job;
    if (!options.job_file.empty()) {
        const auto spec = read_job_file(options.job_file);
        if (!spec) return complain(context.console, spec.error(), ExitCode::usage);
        RM_TRY(const JobSpec values, from_proto(*spec));
        const Status inputs = check_inputs(values, {.are = WorkersAre::here},
                                           std::filesystem::current_path().string());
        if (!inputs) return complain(context.console, inputs.error(), ExitCode::usage);
        job = *spec;
    }
    // `ringmaster --state DIR up` means the same directory.
    if (cluster->state_dir.empty()) cluster->state_dir = context.target.state_dir;
    if (cluster->state_dir.empty()) cluster->state_dir = new_state_dir(context.clock.wall());
    const auto code = run_and_stop(*cluster, options, job, context.console);
    context.console.out.stream << "state " << std::filesystem::absolute(cluster->state_dir).string()
                               << '\n'
                               << std::flush;
    return code;
}

}  // namespace

Verb up_verb() {
    return verb_of(
        "up", "Run a cluster on this machine: a controller and workers", run_up,
        {{"ringmaster up --workers 4 --job job.yaml", "a cluster for one job, stopped at its end"},
         {"ringmaster up --workers 4 --state lab", "one that stays, with its history"},
         {"ringmaster up --observe", "with its page, Prometheus, rules and alerts"}});
}

}  // namespace rm
