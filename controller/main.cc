#include <CLI/CLI.hpp>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/units.h"
#include "controller/daemon.h"
#include "controller/planning/planning_child.h"
#include "service/log.h"
#include "service/man_page.h"
#include "service/security/tls_files.h"

namespace {

struct Flags {
    std::string state;
    std::vector<std::string> listen = {"127.0.0.1:7070"};
    std::string http = "127.0.0.1:7071";
    std::string rank_log_cap = "64M";
    std::string tls_cert;
    std::string tls_key;
    rm::AuthenticatorFiles credentials;
    bool open_metrics = false;
    std::string survey = "auto";
    std::string survey_budget = "5%";
    std::string survey_every = "6 h";
    std::string restore;  // a backup; empty: serve
};

void declare_security(CLI::App& app, Flags& flags) {
    CLI::Option* cert = app.add_option("--tls-cert", flags.tls_cert,
                                       "Certificate in PEM: every TCP address speaks TLS");
    cert->needs(app.add_option("--tls-key", flags.tls_key, "Its key in PEM")->needs(cert));
    app.add_option("--client-ca", flags.credentials.client_ca,
                   "Authorities in PEM whose client certificates are accepted");
    app.add_option("--deny-list", flags.credentials.deny_list,
                   "Serials of certificates that are not; read again when it changes");
    app.add_option("--tokens", flags.credentials.tokens,
                   "Hashes of the accepted tokens; read again when it changes. Loopback without "
                   "TLS then demands one, too");
    app.add_flag("--open-metrics", flags.open_metrics,
                 "/metrics and /api/v1/sd without a credential for callers on this machine");
}

void declare(CLI::App& app, Flags& flags) {
    app.add_option("--state", flags.state, "Directory of the databases and logs")->required();
    app.add_option("--listen", flags.listen,
                   "gRPC address, unix:/path or HOST:PORT; may be given several times; beyond "
                   "127.0.0.1 it needs --tls-cert")
        ->capture_default_str();
    app.add_option("--http", flags.http, "HTTP address HOST:PORT, or none")->capture_default_str();
    declare_security(app, flags);
    app.add_option("--survey", flags.survey,
                   "auto: links are measured when nodes join, now and then, and again when they "
                   "change; manual: when `ringmaster survey` asks")
        ->check(CLI::IsMember({"auto", "manual"}))
        ->capture_default_str();
    app.add_option("--survey-budget", flags.survey_budget,
                   "Part of a running job's time in which its nodes may be probed")
        ->type_name("PERCENT")
        ->capture_default_str();
    app.add_option("--survey-every", flags.survey_every, "Between automatic surveys")
        ->type_name("SPAN")
        ->capture_default_str();
    app.add_option("--rank-log-cap", flags.rank_log_cap,
                   "Bytes of log kept per rank; K and M are 2^10 and 2^20")
        ->capture_default_str();
    app.add_option("--restore", flags.restore,
                   "Put this backup in the place of the database, and end")
        ->type_name("FILE");
}

// A broken invariant or a commit that failed: memory may be ahead of the disk, so nothing more is
// said or done. The next start begins from what is on disk.
void die(const std::string& message) {
    rm::log_event(rm::LogLevel::error, "fatal", {{"reason", message}});
    std::_Exit(1);
}

rm::Result<double> parse_percent(const std::string& text) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [next, failure] = std::from_chars(text.data(), end, percent);
    const bool is_number = failure == std::errc() && std::string_view(next, end) == "%";
    if (is_number && percent >= 0 && percent <= 100) return percent / 100;
    return rm::invalid_argument("--survey-budget '{}': give 0% to 100%", text);
}

rm::Result<rm::DaemonOptions> to_options(const Flags& flags) {
    rm::DaemonOptions options;
    options.state_dir = flags.state;
    options.listen = flags.listen;
    options.http = flags.http == "none" ? "" : flags.http;
    options.version = RM_VERSION;
    RM_TRY(options.rank_log_cap.value, rm::parse_count(flags.rank_log_cap, rm::Suffix::binary));
    if (!flags.tls_cert.empty()) {
        RM_TRY(options.tls, rm::read_key_pair(flags.tls_cert, flags.tls_key));
    }
    options.credentials = flags.credentials;
    if (flags.open_metrics) options.metrics = rm::MetricsAccess::open_on_loopback;
    options.survey.automatic = flags.survey == "auto";
    RM_TRY(options.survey.budget, parse_percent(flags.survey_budget));
    RM_TRY(options.survey.every, rm::parse_seconds(flags.survey_every));
    options.on_fatal = die;
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

rm::Status run(const Flags& flags, const sigset_t& signals) {
    if (!flags.restore.empty()) return restore(flags);
    RM_TRY(rm::DaemonOptions options, to_options(flags));
    RM_TRY(const std::unique_ptr<rm::Daemon> daemon, rm::Daemon::start(std::move(options)));
    int number = 0;
    sigwait(&signals, &number);
    rm::log_event(rm::LogLevel::info, "stopping", {{"signal", number}});
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && argv[1] == std::string_view(rm::kPlanVerb)) {
        return rm::run_planning_child({std::atoll(argv[2])});
    }
    CLI::App app("Ringmaster's controller: jobs, nodes and their history");
    app.set_version_flag("--version", RM_VERSION);
    Flags flags;
    declare(app, flags);
    rm::add_man_flag(app, "ringmaster-controller", RM_VERSION,
                     {"ringmaster(1)", "ringmaster-worker(8)"},
                     [](const std::string& page) { throw CLI::CallForVersion(page, 0); });
    CLI11_PARSE(app, argc, argv);
    // Before any thread: they inherit the mask, and only sigwait gets these.
    const sigset_t signals = stop_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    rm::init_logging("ringmaster-controller");
    const rm::Status status = run(flags, signals);
    if (status) return 0;
    std::fprintf(stderr, "ringmaster-controller: %s\n", status.error().message.c_str());
    return 1;
}
