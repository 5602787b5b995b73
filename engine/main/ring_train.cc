// ring-train: the engine alone, without a controller. N ranks as threads or processes of this
// machine.

#include <CLI/CLI.hpp>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "engine/comm/communicator.h"
#include "engine/comm/nccl/nccl_network.h"
#include "engine/main/dry_run_command.h"
#include "engine/main/ring_train_config.h"
#include "engine/train/cpu_peak.h"
#include "options/checks.h"
#include "options/usage.h"
#include "options/version.h"

extern char** environ;

namespace rm {
namespace {

constexpr int kExitError = 1;
constexpr int kExitDoesNotFit = 3;  // into the memory that the job or its profile allows
constexpr int kExitInterrupted = 130;
constexpr const char* kFooter =
    "\nThe configuration is described in docs/formats/ring_train.md. --dry-run prints the layout, "
    "the\n"
    "memory of a step and, with --profile, its time on such a machine, and trains nothing. Memory\n"
    "that the configuration limits and leaves open is chosen for the profile.\n"
    "Exit codes: 0 done (a dry run: it fits, or no limit is known), 1 failed, 2 wrong arguments "
    "or\n"
    "configuration, 3 does not fit into memory.device, memory.host or the profile's device, 130\n"
    "interrupted.\n";

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
    stop_requested = true;
}

// Used when there is no work to finish: before ranks start, and in a dry run.
void stop_at_once(int /*signal*/) {
    _exit(kExitInterrupted);
}

void on_stop(void (*handler)(int)) {
    signal(SIGINT, handler);
    signal(SIGTERM, handler);
}

struct Arguments {
    std::string config_path;
    std::string device;  // empty: the configuration's
    bool dry_run = false;
    DryRunRequest request;
    int rank = -1;  // of a process rank, with its exchange directory and who started it
    std::string exchange_dir;
    int parent = 0;
};

// Whether a rank failed by itself, or because another rank failed.
enum class Blame { own, others };
struct RankEnd {
    int code = 0;
    std::string words;  // the error message
    Blame blame = Blame::own;
};

RankEnd failed_with(const Error& error) {
    return {kExitError, error.message,
            error.code == ErrorCode::aborted ? Blame::others : Blame::own};
}

// The file in which a process rank leaves its error message.
std::string words_path(const std::string& exchange_dir, std::size_t rank) {
    return format("{}/failed-{}", exchange_dir, rank);
}

// Prints each error once, with the ranks that share it; omits errors that only follow from it.
void tell(const std::vector<RankEnd>& ends) {
    std::map<std::string, std::vector<std::size_t>> ranks;
    for (const Blame blame : {Blame::own, Blame::others}) {
        for (std::size_t rank = 0; rank < ends.size() && (blame == Blame::own || ranks.empty());
             ++rank) {
            const RankEnd& end = ends[rank];
            if (end.code == kExitError && end.blame == blame) ranks[end.words].push_back(rank);
        }
    }
    for (const auto& [words, by] : ranks) {
        if (words.empty()) continue;  // the rank has printed its own
        std::string who = format("{} {}", plural(by.size(), "rank"), join(by));
        if (by.size() == ends.size() && by.size() > 1) who = format("all {} ranks", by.size());
        std::cerr << format("{}: {}\n", who, words);
    }
}

class PrintingObserver final : public RankObserver {
public:
    explicit PrintingObserver(int rank) : first_(rank == 0) {}
    void on_connected(const ConnectedReport& /*report*/) override {}
    void on_started(std::int64_t /*first_step*/, std::int64_t /*num_steps*/) override {}
    void on_step(const StepReport& report) override {
        if (std::exchange(said_stage_, report.stage) != report.stage) {
            for (const std::string& line : step_constants(report))
                print(line);
        }
        print(step_line(report));
    }
    void on_evaluation(const EvaluationReport& report) override { print(evaluation_line(report)); }
    void on_suite(const SuiteReport& report) override { print(suite_line(report)); }
    void on_checkpoint(std::int64_t step, const std::string& path, double seconds) override {
        print(format("checkpoint after step {}: {} ({})", step, path, Seconds{seconds}));
    }
    void on_stage_done(int stage, std::int64_t step) override {
        print(stage_done_line(stage, step));
    }
    void on_note(const std::string& text) override { print(text); }

private:
    void print(const std::string& line) const {
        if (first_) std::cout << line << std::endl;
    }
    bool first_;
    int said_stage_ = -1;  // whose constants are printed
};

Result<std::unique_ptr<Network>> connect(const RingTrainConfig& config, const RankConfig& rank,
                                         Exchange* exchange, const std::shared_ptr<LocalHub>& hub) {
    const Mesh mesh = config.mesh();
    const Seconds timeout = rank.plan.collective_timeout;
    if (config.transport == TransportKind::nccl)
        return make_nccl_network(*exchange, {.rank = rank.rank, .mesh = mesh, .timeout = timeout});
    TransportOptions options;
    options.rank = rank.rank;
    options.num_ranks = mesh.num_ranks();
    options.peers = peers_of(mesh)[usize(rank.rank)];
    options.timeout = timeout;
    std::unique_ptr<Network> network;
    if (config.transport == TransportKind::local) {
        network = make_local_transport(hub, options);
    } else {
        network = make_gloo_transport(config.address, *exchange, options);
    }
    return network;
}

RankConfig with_peak(const RingTrainConfig& config, int rank) {
    RankConfig out = rank_config(config, rank);
    if (!config.device.is_cpu()) return out;
    if (const auto peak = cached_cpu_peak(default_peak_cache(), compute_type(config.spec))) {
        out.peak_flops = peak->flops / config.mesh().num_ranks();
        out.peak_name = peak->name;
    }
    return out;
}

// Runs one rank to its end.
RankEnd train_rank(const RingTrainConfig& config, int rank, Exchange* exchange,
                   const std::shared_ptr<LocalHub>& hub) {
    try {
        const RankConfig own = with_peak(config, rank);
        const auto kernels = make_rank_kernels(own, config.tuning_file);
        if (!kernels) return failed_with(kernels.error());
        const auto network = connect(config, own, exchange, hub);
        if (!network) return failed_with(network.error());
        PrintingObserver observer(rank);
        ProgressPage progress{};
        const auto outcome =
            run_rank(own, {**kernels, **network, observer, progress, stop_requested, nullptr});
        if (!outcome) return failed_with(outcome.error());
        return {.code = *outcome == RankOutcome::finished ? 0 : kExitInterrupted};
    } catch (const TransportError& error) {
        return {kExitError, error.what(), Blame::others};
    } catch (const std::exception& error) {
        return {kExitError, error.what(), Blame::own};
    }
}

int run_threads(const RingTrainConfig& config) {
    const int num_ranks = config.mesh().num_ranks();
    const auto hub = make_local_hub(num_ranks);
    auto exchanges = make_local_exchanges(num_ranks);
    std::vector<RankEnd> ends(usize(num_ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < num_ranks; ++rank) {
        const auto i = usize(rank);
        threads.emplace_back(
            [&, rank, i] { ends[i] = train_rank(config, rank, exchanges[i].get(), hub); });
    }
    for (std::thread& thread : threads)
        thread.join();
    tell(ends);
    const auto failed = [](const RankEnd& end) { return end.code == kExitError; };
    if (std::any_of(ends.begin(), ends.end(), failed)) return kExitError;
    return ends.front().code;
}

pid_t spawn_rank(const Arguments& arguments, int rank, const std::string& exchange_dir) {
    std::vector<std::string> words = {
        "ring-train", arguments.config_path, "--rank",   std::to_string(rank),
        "--exchange", exchange_dir,          "--parent", std::to_string(getpid())};
    const auto pass_on = [&words](const std::string& flag, const std::string& value) {
        if (!value.empty()) words.insert(words.end(), {flag, value});
    };
    pass_on("--device", arguments.device);
    pass_on("--profile", arguments.request.profile);
    pass_on("--host-profile", arguments.request.host_profile);
    const double link = arguments.request.link_gbit;
    pass_on("--link", link > 0 ? format("{}", link) : "");
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int failure = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
    RM_CHECK(failure == 0, "cannot start rank {}: error {}", rank, failure);
    return pid;
}

// A rank that failed by itself has left an error message; the others follow it.
struct Child {
    pid_t pid = -1;
    RankEnd end;
};

RankEnd end_of(int wait_status, const std::string& words_path) {
    if (!WIFEXITED(wait_status)) {
        const int signal = WTERMSIG(wait_status);
        return {kExitError, format("ended by signal {} ({})", signal, strsignal(signal)),
                Blame::own};
    }
    const int code = WEXITSTATUS(wait_status);
    // Any other code is a failure.
    RankEnd end{.code = code == 0 || code == kExitInterrupted ? code : kExitError};
    std::ifstream file(words_path);
    end.blame = file ? Blame::own : Blame::others;
    end.words.assign(std::istreambuf_iterator<char>(file), {});
    return end;
}

// Waits for all ranks; passes a request to stop on, and ends the others when one has failed. Their
// own ends no longer count.
int wait_for(std::vector<Child>& children, const std::string& dir) {
    std::size_t running = children.size();
    bool told = false;
    bool failed = false;
    while (running > 0) {
        int status = 0;
        const pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended <= 0) usleep(20'000);
        for (std::size_t rank = 0; ended > 0 && rank < children.size(); ++rank) {
            if (children[rank].pid != ended) continue;
            children[rank].pid = -1;
            --running;
            if (!failed) children[rank].end = end_of(status, words_path(dir, rank));
            failed = failed || children[rank].end.code == kExitError;
        }
        if (!(stop_requested || failed) || told) continue;
        told = true;
        for (const Child& child : children) {
            if (child.pid > 0) kill(child.pid, failed ? SIGKILL : SIGTERM);
        }
    }
    return failed ? kExitError : children.front().end.code;
}

int run_processes(const RingTrainConfig& config, const Arguments& arguments) {
    std::string dir = (std::filesystem::temp_directory_path() / "ring-train.XXXXXX").string();
    RM_CHECK(mkdtemp(dir.data()) != nullptr, "cannot make {}", dir);
    std::vector<Child> children;
    for (int rank = 0; rank < config.mesh().num_ranks(); ++rank) {
        children.push_back({spawn_rank(arguments, rank, dir), {}});
    }
    const int code = wait_for(children, dir);
    std::filesystem::remove_all(dir);
    std::vector<RankEnd> ends;
    for (const Child& child : children)
        ends.push_back(child.end);
    tell(ends);
    return code;
}

// Dies with the process that started it, also when that is killed. It may have ended before the
// call: then the parent is another already.
bool tie_to_parent(int parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return ::getppid() == parent;
}

int run_process_rank(const Arguments& arguments, const RingTrainConfig& config) {
    const auto exchange =
        make_directory_exchange(arguments.exchange_dir, arguments.rank, config.mesh().num_ranks());
    const RankEnd end = train_rank(config, arguments.rank, exchange.get(), nullptr);
    if (end.code == kExitError && end.blame == Blame::own) {
        std::ofstream(words_path(arguments.exchange_dir, usize(arguments.rank))) << end.words;
    }
    return end.code;
}

void declare(CLI::App& app, Arguments& arguments) {
    app.add_option("CONFIG", arguments.config_path, "The configuration, CONFIG.json")->required();
    app.add_option("--device", arguments.device, "cpu, cuda or cuda:N; overrides the configuration")
        ->type_name("DEVICE");
    CLI::Option* dry_run = app.add_flag("--dry-run", arguments.dry_run, "Predict; train nothing");
    app.add_option("--figure", arguments.request.figure, "Draw the step of the dry run")
        ->type_name("FILE.svg")
        ->needs(dry_run);
    app.add_option("--profile", arguments.request.profile, "Device profile: a name or a file")
        ->type_name("NAME|FILE");
    app.add_option("--host-profile", arguments.request.host_profile, "Profile of the host's CPU")
        ->type_name("FILE");
    app.add_option("--link", arguments.request.link_gbit, "Link between machines, in Gbit/s")
        ->type_name("GBIT")
        ->check(number(1e-6, 1e6));
    // A parent gives these to a rank that is a process.
    app.add_option("--rank", arguments.rank)->group("")->check(whole_number(0));
    app.add_option("--exchange", arguments.exchange_dir)->group("");
    app.add_option("--parent", arguments.parent)->group("")->check(whole_number(0));
}

Result<RingTrainConfig> read_config(const Arguments& arguments) {
    const std::string& path = arguments.config_path;
    std::ifstream file(path);
    if (!file) return make_error(ErrorCode::not_found, "cannot read {}", path);
    std::stringstream text;
    text << file.rdbuf();
    auto config = parse_ring_train_config(text.str());
    if (!config) return invalid_argument("{}: {}", path, config.error().message);
    if (!arguments.device.empty()) {
        RM_TRY(config->device, parse_rank_device(arguments.device));
    }
    RM_TRY(config->memory, plan_memory(*config, arguments.request));
    return config;
}

int fail(const Error& error, int code) {
    std::cerr << "ring-train: " << error.message << '\n';
    return code;
}

Result<DryRunAnswer> dry_run(const RingTrainConfig& config, const DryRunRequest& request) {
    RM_TRY(const std::string layout, describe_layout(config));
    std::cout << layout;
    return describe_dry_run(config, request);
}

int train(const Arguments& arguments, const RingTrainConfig& config) {
    if (arguments.rank >= 0) return run_process_rank(arguments, config);
    // Once, and before any rank is started.
    const Status usable = check_rank_device(config.device, config.spec);
    if (!usable) return fail(usable.error(), kExitError);
    return config.ranks == RankKind::threads ? run_threads(config)
                                             : run_processes(config, arguments);
}

int run(const Arguments& arguments) {
    if (arguments.rank >= 0 && !tie_to_parent(arguments.parent)) return kExitError;
    on_stop(stop_at_once);
    const auto config = read_config(arguments);
    if (!config) {
        const bool too_large = config.error().code == ErrorCode::resource_exhausted;
        return fail(config.error(), too_large ? kExitDoesNotFit : kExitUsage);
    }
    if (arguments.dry_run) {
        const auto answer = dry_run(*config, arguments.request);
        if (!answer) return fail(answer.error(), kExitUsage);
        std::cout << answer->text;
        return answer->fits ? 0 : kExitDoesNotFit;
    }
    on_stop(request_stop);
    return train(arguments, *config);
}

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    CLI::App app("Trains without a controller: ranks are threads or processes of this machine",
                 "ring-train");
    app.set_version_flag("--version", std::string("ring-train ") + rm::version());
    app.footer(rm::kFooter);
    rm::Arguments arguments;
    rm::declare(app, arguments);
    return rm::run_program(app, argc, argv, [&] { return rm::run(arguments); });
}
