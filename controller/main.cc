#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/units.h"
#include "controller/daemon.h"
#include "controller/planning/planning_child.h"
#include "service/log.h"

namespace {

struct Flags {
    std::string state;
    std::vector<std::string> listen = {"127.0.0.1:7070"};
    std::string http = "127.0.0.1:7071";
    std::string rank_log_cap = "64M";
};

void declare(CLI::App& app, Flags& flags) {
    app.add_option("--state", flags.state, "Directory of the databases and logs")->required();
    app.add_option("--listen", flags.listen,
                   "gRPC address, unix:/path or 127.0.0.1:PORT; may be given several times")
        ->capture_default_str();
    app.add_option("--http", flags.http, "HTTP address HOST:PORT, or none")->capture_default_str();
    app.add_option("--rank-log-cap", flags.rank_log_cap,
                   "Bytes of log kept per rank; K and M are 2^10 and 2^20")
        ->capture_default_str();
}

// A broken invariant or a commit that failed: memory may be ahead of the disk, so nothing more is
// said or done. The next start begins from what is on disk.
void die(const std::string& message) {
    rm::log_event(rm::LogLevel::error, "fatal", {{"reason", message}});
    std::_Exit(1);
}

rm::Result<rm::DaemonOptions> to_options(const Flags& flags) {
    rm::DaemonOptions options;
    options.state_dir = flags.state;
    options.listen = flags.listen;
    options.http = flags.http == "none" ? "" : flags.http;
    options.version = RM_VERSION;
    RM_TRY(options.rank_log_cap.value, rm::parse_count(flags.rank_log_cap, rm::Suffix::binary));
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

rm::Status run(const Flags& flags, const sigset_t& signals) {
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
