#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/os/end_process.h"
#include "service/log.h"
#include "service/machine.h"
#include "worker/agent/stop_ranks.h"
#include "worker/daemon/worker_daemon.h"
#include "worker/daemon/worker_options.h"
#include "worker/probe/gpu_probe.h"
#include "worker/profile/profile_child.h"
#include "worker/rank/rank_process.h"
#include "worker/shim/shim.h"

namespace {

// A start that is tried again ends in the same way, such as a join with a token that has expired.
// `ringmaster` has the same code for it.
constexpr int kExitDenied = 7;

int shim_main(const char* dir) {
    const rm::Status ended = rm::run_shim(dir);
    if (!ended) std::fprintf(stderr, "%s\n", ended.error().message.c_str());
    return ended ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Ends with 1 where a rank has not stopped by itself.
int stop_ranks_main(int argc, char** argv) {
    const rm::WorkerCommandLine command = rm::parse_stop_ranks_line(argc, argv);
    if (!command.options) return command.exit_code;
    const rm::Status stopped = rm::stop_ranks(
        command.options->state_dir, command.options->orphan.grace, [](const std::string& line) {
            std::printf("%s\n", line.c_str());
            std::fflush(stdout);
        });
    if (!stopped) std::fprintf(stderr, "ringmaster-worker: %s\n", stopped.error().message.c_str());
    return stopped ? EXIT_SUCCESS : EXIT_FAILURE;
}

int daemon_main(int argc, char** argv) {
    const rm::WorkerCommandLine command = rm::parse_command_line(argc, argv);
    if (!command.options) return command.exit_code;
    const rm::Supervisor supervisor = rm::Supervisor::from_environment();
    rm::init_logging("ringmaster-worker");
    rm::raise_open_files_limit();
    const rm::Status ended = rm::run_worker(*command.options, supervisor);
    if (!ended)
        rm::log_event(rm::LogLevel::error, "worker_failed", {{"reason", ended.error().message}});
    if (ended) return EXIT_SUCCESS;
    return ended.error().code == rm::ErrorCode::permission_denied ? kExitDenied : EXIT_FAILURE;
}

int run(int argc, char** argv) {
    const std::string_view verb = argc > 1 ? argv[1] : "";
    // Handle the daemon's own children first: they need nothing that a daemon starts.
    if (verb == "shim" && argc == 3) return shim_main(argv[2]);
    if (verb == "probe" && argc == 3) return rm::run_gpu_probe_child(argv[2]);
    if (verb == "profile" && argc == 3) return rm::run_profile_child(argv[2]);
    if (verb == "rank" && argc == 4) return rm::run_rank_process(argv[2], std::atoi(argv[3]));
    if (verb == "stop-ranks") return stop_ranks_main(argc - 1, argv + 1);
    rm::end_process(daemon_main(argc, argv));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ringmaster-worker: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
