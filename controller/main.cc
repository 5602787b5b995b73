#include <CLI/CLI.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/os/end_process.h"
#include "base/text.h"
#include "base/units.h"
#include "controller/daemon.h"
#include "controller/discovery_flags.h"
#include "options/checks.h"
#include "options/examples.h"
#include "options/usage.h"
#include "options/version.h"
#include "planner/child/planning_child.h"
#include "service/daemon/config_file.h"
#include "service/daemon/supervisor.h"
#include "service/grpc/grpc_util.h"
#include "service/job_file/price_list.h"
#include "service/log.h"
#include "service/machine.h"
#include "service/man_page.h"
#include "service/security/pki.h"

namespace {

constexpr double kDaySeconds = 86400;
constexpr double kShortestDays = 0.0001;  // nine seconds, for tests

struct Flags {
    std::string state;
    std::vector<std::string> listen = {"127.0.0.1:7070"};
    std::string http = "127.0.0.1:7071";
    std::string rank_log_cap = "64MiB";
    std::string tls_cert;
    std::string tls_key;
    rm::AuthenticatorFiles credentials;
    std::string node_authority_key;
    double node_certificate_days = 30;
    bool open_metrics = false;
    std::string survey = "auto";
    std::string survey_budget = "5%";
    std::string survey_every = "6 h";
    std::string max_bypass = "1 h";
    std::string prices;
    rm::DiscoveryFlags discovery;
    rm::Backups restore;  // without one of control.db: serve
};

void declare_security(CLI::App& app, Flags& flags) {
    CLI::Option* cert = app.add_option("--tls-cert", flags.tls_cert,
                                       "Certificate (PEM); enables TLS on every TCP address");
    cert->needs(app.add_option("--tls-key", flags.tls_key, "Its key (PEM)")->needs(cert));
    app.add_option("--client-ca", flags.credentials.client_ca,
                   "CA certificates (PEM) whose client certificates are accepted");
    app.add_option("--deny-list", flags.credentials.deny_list,
                   "Revoked certificate serials; reloaded when the file changes");
    app.add_option("--tokens", flags.credentials.tokens,
                   "Hashes of the accepted tokens; reloaded when the file changes. Loopback "
                   "without TLS then requires a token, too");
    CLI::Option* nodes =
        app.add_option("--node-authority", flags.credentials.node_authority,
                       "Certificate (PEM) of the authority that signs for machines which join");
    nodes->needs(app.add_option("--node-authority-key", flags.node_authority_key, "Its key (PEM)")
                     ->needs(nodes));
    app.add_option("--node-certificate-days", flags.node_certificate_days,
                   "Days for which such a certificate is valid; workers renew after two thirds")
        ->type_name("DAYS")
        ->check(rm::number(kShortestDays))
        ->capture_default_str();
    app.add_flag("--open-metrics", flags.open_metrics,
                 "/metrics and /api/v1/sd without a credential for callers on this machine");
}

void declare(CLI::App& app, Flags& flags) {
    const auto add = [&app](const char* name, auto& value, const char* type, const char* help) {
        CLI::Option* option = app.add_option(name, value, help)->capture_default_str();
        return *type == '\0' ? option : option->type_name(type);
    };
    rm::add_config_options(app);
    app.add_option("--state", flags.state, "Directory of the databases and logs")
        ->type_name("DIR")
        ->required();
    add("--listen", flags.listen, "ADDRESS",
        "gRPC address, unix:/path or HOST:PORT; may be given several times; beyond "
        "loopback it needs --tls-cert");
    add("--http", flags.http, "ADDRESS", "HTTP address HOST:PORT, or none");
    declare_security(app, flags);
    add("--survey", flags.survey, "auto|manual",
        "auto: measure links when nodes join, now and then, and when they change; "
        "manual: only when `ringmaster survey` asks")
        ->check(rm::one_of({"auto", "manual"}));
    add("--survey-budget", flags.survey_budget, "PERCENT",
        "Share of a running job's time in which its nodes may be probed");
    add("--survey-every", flags.survey_every, "SPAN", "Time between automatic surveys");
    add("--max-bypass", flags.max_bypass, "SPAN",
        "How long later jobs may pass one that waits for more devices than are free; "
        "then those that become free are kept for it");
    app.add_option("--prices", flags.prices,
                   "What devices cost and which power they take (docs/formats/prices.md)")
        ->type_name("FILE");
    rm::declare_discovery(app, flags.discovery);
    add("--rank-log-cap", flags.rank_log_cap, "", "Log kept per rank, such as 64MiB");
    CLI::Option* const restore =
        app.add_option("--restore", flags.restore.control,
                       "Restore this backup and exit; the controller must be stopped")
            ->type_name("FILE")
            ->configurable(false);
    app.add_option("--restore-telemetry", flags.restore.telemetry,
                   "Restore this backup of the telemetry with it")
        ->type_name("FILE")
        ->configurable(false)
        ->needs(restore);
}

constexpr rm::Example kExamples[] = {
    {"ringmaster-controller --state /var/lib/ringmaster",
     "for workers and clients of this machine: 127.0.0.1:7070"},
    {"ringmaster-controller --state /var/lib/ringmaster --listen 10.0.0.1:7070 --tls-cert c.crt "
     "--tls-key c.key --client-ca ca.crt",
     "for other machines, too"},
    {"ringmaster-controller --config /etc/ringmaster/controller.yaml", "with options from a file"}};

// After a broken invariant or a failed commit, memory may be ahead of the disk: nothing more is
// sent or done. The next start begins from what is on disk.
void die(const std::string& message) {
    rm::log_event(rm::LogLevel::error, "fatal", {{"reason", message}});
    std::_Exit(1);
}

// gRPC never accepts again after it has found no free descriptor.
std::string nobody_can_call(const std::string& why) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    return rm::format(
        "{}: no connection is accepted any more, so this controller ends; ranks keep training. "
        "Start it again with the same flags, if no supervisor of yours does, and with more than "
        "{} open files if this comes back: `ulimit -n` before it, or LimitNOFILE= in a systemd "
        "unit",
        why, files.rlim_cur);
}

rm::Result<double> parse_percent(const std::string& text) {
    const auto percent = text.ends_with('%')
                             ? rm::parse_number<double>(text.substr(0, text.size() - 1))
                             : std::nullopt;
    if (percent && *percent >= 0 && *percent <= 100) return *percent / 100;
    return rm::invalid_argument("--survey-budget '{}': give 0% to 100%", text);
}

// A size such as 64MiB; older versions wrote 64M.
rm::Result<rm::Bytes> parse_log_cap(const std::string& text) {
    const auto size = rm::parse_bytes(text);
    const auto count = rm::parse_count(text, rm::Suffix::binary);
    const rm::Bytes bytes = size ? *size : rm::Bytes{count ? *count : 0};
    if (bytes.value > 0) return bytes;
    return rm::invalid_argument("--rank-log-cap '{}' is not a size; write 64MiB or 1GiB", text);
}

// `clock` outlives the daemon.
rm::Result<rm::DaemonOptions> to_options(const Flags& flags, const rm::Clock& clock) {
    rm::DaemonOptions options;
    options.state_dir = flags.state;
    options.listen = flags.listen;
    options.http = flags.http == "none" ? "" : flags.http;
    options.version = rm::version();
    RM_TRY(options.rank_log_cap, parse_log_cap(flags.rank_log_cap));
    if (!flags.tls_cert.empty()) {
        RM_TRY(options.tls, rm::read_key_pair(flags.tls_cert, flags.tls_key));
    }
    options.credentials = flags.credentials;
    if (!flags.credentials.node_authority.empty()) {
        RM_TRY(options.join.authority,
               rm::read_key_pair(flags.credentials.node_authority, flags.node_authority_key));
    }
    options.join.lifetime = {flags.node_certificate_days * kDaySeconds};
    if (flags.open_metrics) options.metrics = rm::MetricsAccess::open_on_loopback;
    options.survey.automatic = flags.survey == "auto";
    RM_TRY(options.survey.budget, parse_percent(flags.survey_budget));
    RM_TRY(options.survey.every,
           rm::within("--survey-every", rm::parse_seconds(flags.survey_every)));
    RM_TRY(options.max_bypass, rm::within("--max-bypass", rm::parse_seconds(flags.max_bypass)));
    if (!flags.prices.empty()) {
        RM_TRY(options.prices, rm::read_price_list(flags.prices));
    }
    RM_TRY(options.discovery, rm::discovery_options(flags.discovery, clock));
    options.on_fatal = die;
    rm::when_listener_ends([](const std::string& why) { die(nobody_can_call(why)); });
    options.planner = {"/proc/self/exe", rm::kPlanVerb};
    return options;
}

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

rm::Status restore(const Flags& flags) {
    RM_TRY(const std::string done, rm::restore_state(flags.restore, flags.state));
    std::printf("%s\n", done.c_str());
    return {};
}

// The signal that ends the daemon. Until then the control loop proves its life when the supervisor
// wants to hear of it.
int serve(rm::Daemon& daemon, const sigset_t& signals, const rm::Supervisor& supervisor) {
    constexpr rm::Seconds kDay{86400};
    const double wait = supervisor.alive_every().value_or(kDay).value;
    const auto whole = static_cast<time_t>(wait);
    const timespec span{whole, static_cast<long>((wait - static_cast<double>(whole)) * 1e9)};
    while (true) {
        const int number = sigtimedwait(&signals, nullptr, &span);
        if (number > 0) return number;
        daemon.prove_life();
    }
}

rm::Status run(const Flags& flags, const sigset_t& signals, const rm::Supervisor& supervisor) {
    if (!flags.restore.control.empty()) return restore(flags);
    const rm::SystemClock clock;
    RM_TRY(rm::DaemonOptions options, to_options(flags, clock));
    options.on_life = [&supervisor] { supervisor.alive(); };
    RM_TRY(const std::unique_ptr<rm::Daemon> daemon, rm::Daemon::start(std::move(options)));
    supervisor.status(rm::format("gRPC on {}, HTTP on {}", rm::join(daemon->grpc_addresses()),
                                 flags.http == "none" ? flags.http : daemon->http_address()));
    supervisor.ready();
    const int number = serve(*daemon, signals, supervisor);
    supervisor.stopping();
    rm::log_event(rm::LogLevel::info, "stopping", {{"signal", number}});
    return {};
}

int daemon_main(int argc, char** argv) {
    CLI::App app("Ringmaster's controller: jobs, nodes and their history", "ringmaster-controller");
    app.set_version_flag("--version", std::string("ringmaster-controller ") + rm::version());
    Flags flags;
    declare(app, flags);
    app.footer("\n" + rm::examples_text(kExamples));
    rm::add_man_flag(app, "ringmaster-controller", rm::version(), kExamples,
                     {"ringmaster(1)", "ringmaster-worker(8)"},
                     [](const std::string& page) { throw CLI::CallForVersion(page, 0); });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return rm::exit_usage(app, error);
    }
    if (const auto config = rm::config_to_print(app)) {
        std::fputs(config->c_str(), stdout);
        return 0;
    }
    // Before any thread: they inherit the mask, and only sigwait gets these.
    const sigset_t signals = stop_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    ::umask(0077);  // tables, logs and sockets are for this user only
    rm::raise_open_files_limit();
    const rm::Supervisor supervisor = rm::Supervisor::from_environment();
    rm::init_logging("ringmaster-controller");
    const rm::Status status = run(flags, signals, supervisor);
    if (status) return 0;
    // A backup is restored on behalf of `ringmaster restore`.
    const char* const program =
        flags.restore.control.empty() ? "ringmaster-controller" : "ringmaster";
    std::fprintf(stderr, "%s: %s\n", program, status.error().message.c_str());
    return status.error().code == rm::ErrorCode::invalid_argument ? rm::kExitUsage : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && argv[1] == std::string_view(rm::kPlanVerb)) {
        return rm::run_planning_child({std::atoll(argv[2])});
    }
    rm::end_process(daemon_main(argc, argv));
}
