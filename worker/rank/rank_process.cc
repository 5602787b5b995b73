#include "worker/rank/rank_process.h"

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "engine/comm/communicator.h"
#include "engine/comm/nccl/nccl_network.h"
#include "engine/run/run_rank.h"
#include "engine/schedule/device_profile_json.h"
#include "engine/train/rank_config.h"
#include "spec/session.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/files.h"
#include "worker/dir/progress_file.h"
#include "worker/rank/exit_class.h"
#include "worker/rank/jsonl_observer.h"
#include "worker/rank/nccl_settings.h"
#include "worker/rank/preflight.h"
#include "worker/rank/surroundings.h"
#include "worker/rank/worker_exchange.h"
#include "worker/rank/worker_publish.h"

namespace rm {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void listen_for_stop() {
    struct sigaction action {};
    action.sa_handler = [](int) { stop_requested.store(true); };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTERM, &action, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// When memory runs out the kernel should take a rank, never a daemon. Best effort.
void volunteer_for_the_oom_killer() {
    if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
        std::fputs("500", file);
        std::fclose(file);
    }
}

int fail(const AttemptDir& dir, int rank, const std::string& words, int code) {
    std::fprintf(stderr, "%s\n", words.c_str());
    const Status left = replace_text_file(dir.last_words(rank), words);
    if (!left) std::fprintf(stderr, "%s\n", left.error().message.c_str());
    return code;
}

class RankProcess {
public:
    RankProcess(AttemptDir dir, int rank) : dir_(std::move(dir)), rank_(rank) {}

    Result<int> run() {
        RM_RETURN_IF_ERROR(tie_to_shim(dir_));
        RM_TRY(const std::string attempt_text, read_text_file(dir_.attempt()));
        RM_TRY(const AttemptFile attempt, parse_attempt_file(attempt_text));
        RM_TRY(const std::string config_text, read_text_file(dir_.config(rank_)));
        RM_TRY(const RankConfig config, parse_rank_config(config_text));
        enter_surroundings(config);
        RM_TRY(const ProgressFile progress, ProgressFile::map(dir_.progress(rank_)));
        RM_TRY(JsonlObserver observer, JsonlObserver::open(dir_.reports(rank_)));
        const char* planted = std::getenv("RM_FAULTS");
        RM_TRY(auto points, Faults::parse(planted == nullptr ? "" : planted));
        Faults faults(std::move(points));
        return meet_and_train(attempt, config, progress.page(), observer, faults);
    }

private:
    Result<int> meet_and_train(const AttemptFile& attempt, const RankConfig& config,
                               ProgressPage& progress, JsonlObserver& observer, Faults& faults) {
        WorkerPublishGuard guard(dir_.path(), rank_, stop_requested);
        try {
            if (!config.device_uuid.empty()) check_free(config.device_uuid);
            const auto kernels = make_rank_kernels(config);
            if (!kernels) return without_device(kernels.error(), observer);
            if (!config.device_profile.empty()) check_speed(config, **kernels);
            const auto network = meet(attempt, config, progress, faults);
            if (!network) return ended_by(network.error(), observer);
            const Result<RankOutcome> outcome = run_rank(config, {.kernels = **kernels,
                                                                  .network = **network,
                                                                  .observer = observer,
                                                                  .progress = progress,
                                                                  .stop = stop_requested,
                                                                  .faults = &faults,
                                                                  .publish_guard = &guard});
            if (!outcome) return ended_by(outcome.error(), observer);
            return *outcome == RankOutcome::finished ? kRankFinished : kRankStopped;
        } catch (const std::exception& error) {
            const int code = exit_code_of(std::current_exception());
            // There is no training state yet that a checkpoint could hold.
            const bool as_asked = stop_requested.load() && !observer.started();
            if (code == kRankLostPeer && as_asked) return kRankStopped;
            return fail(dir_, rank_, words_of(error), code);
        }
    }

    // A profile that cannot be read judges no device.
    static void check_speed(const RankConfig& config, Kernels& kernels) {
        const auto profile = read_device_profile(config.device_profile);
        const SystemClock clock;
        const auto now = [&] { return static_cast<double>(clock.mono().nanos) * 1e-9; };
        const std::string note =
            profile ? rm::check_speed(kernels, *profile, now) : profile.error().message;
        std::printf("%s\n", note.c_str());
    }

    // A node without its library or its driver fails every job: another node may be whole.
    int without_device(const Error& error, const JsonlObserver& observer) const {
        if (error.code != ErrorCode::unavailable) return ended_by(error, observer);
        return fail(dir_, rank_, error.message, kRankNodeFault);
    }

    int ended_by(const Error& error, const JsonlObserver& observer) const {
        const Reached reached = observer.started() ? Reached::training : Reached::setup;
        return fail(dir_, rank_, error.message, exit_code_of(error, reached));
    }

    Result<std::unique_ptr<Network>> meet(const AttemptFile& attempt, const RankConfig& config,
                                          ProgressPage& progress, Faults& faults) {
        WorkerExchange exchange(dir_.path(), rank_, stop_requested);
        if (config.plan.network == NetworkKind::nccl)
            return meet_over_nccl(attempt, config, exchange);
        const PeerTable peers = peers_of(config.plan.mesh);
        std::unique_ptr<Network> network =
            make_gloo_transport(attempt.data_address, exchange,
                                {.rank = rank_,
                                 .num_ranks = config.plan.mesh.num_ranks(),
                                 .peers = peers[usize(rank_)],
                                 .ports = attempt.ports,
                                 .timeout = config.plan.collective_timeout,
                                 .faults = &faults,
                                 .waits_for = &progress.collectives.waits_for,
                                 .stop = &stop_requested});
        return network;
    }

    Result<std::unique_ptr<Network>> meet_over_nccl(const AttemptFile& attempt,
                                                    const RankConfig& config, Exchange& exchange) {
        RM_TRY(const NcclSettings settings,
               nccl_settings(attempt.data_address, config.spec.reproducible));
        for (const auto& [name, value] : environment_of(settings))
            ::setenv(name.c_str(), value.c_str(), 1);
        return make_nccl_network(exchange, {.rank = rank_,
                                            .mesh = config.plan.mesh,
                                            .address = attempt.data_address,
                                            .settings = to_string(settings),
                                            .timeout = config.plan.collective_timeout,
                                            .stop = &stop_requested});
    }

    const AttemptDir dir_;
    const int rank_;
};

}  // namespace

int run_rank_process(const std::string& path, int rank) {
    listen_for_stop();
    volunteer_for_the_oom_killer();
    const AttemptDir dir(path);
    try {
        const Result<int> code = RankProcess(dir, rank).run();
        // The error is about this directory's files: about this node, not about any input of the
        // user.
        return code ? *code : fail(dir, rank, code.error().message, kRankNodeFault);
    } catch (const std::exception& error) {
        return fail(dir, rank, words_of(error), exit_code_of(std::current_exception()));
    }
}

}  // namespace rm
