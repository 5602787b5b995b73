// ring-train: the engine alone, without a controller. N ranks as threads or processes of this
// machine.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/main/dry_run_command.h"
#include "engine/main/ring_train_config.h"
#include "engine/train/cpu_peak.h"
#include "engine/train/report_json.h"

extern char** environ;

namespace rm {
namespace {

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;
constexpr std::string_view kUsage =
    "usage: ring-train CONFIG.json [--device cpu|cuda|cuda:N] [--dry-run [--figure FILE.svg]]\n"
    "                  [--profile NAME|FILE [--host-profile FILE] [--link GBIT]]\n"
    "  Trains as CONFIG.json says (docs/formats/ring_train.md): ranks are threads or processes of\n"
    "  this machine. --device is stronger than the configuration's. --dry-run prints the layout, "
    "the\n"
    "  memory of a step and, for a machine of this profile, its time, and trains nothing; "
    "--figure\n"
    "  draws the step. Memory that the configuration limits and leaves open is chosen for the "
    "profile.\n";

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
    stop_requested = true;
}

struct Arguments {
    std::string config_path;
    std::string device;  // empty: the configuration's
    bool dry_run = false;
    DryRunRequest request;
    std::string link;  // as it was given
    int rank = -1;     // of a process rank, with its exchange directory
    std::string exchange_dir;
};

class PrintingObserver final : public RankObserver {
public:
    PrintingObserver(int rank, std::string peak_name)
        : first_(rank == 0), peak_name_(std::move(peak_name)) {}
    void on_connected(const ConnectedReport& /*report*/) override {}
    void on_started(std::int64_t /*first_step*/, std::int64_t /*num_steps*/) override {}
    void on_step(const StepReport& report) override { print(step_line(report, peak_name_)); }
    void on_evaluation(const EvaluationReport& report) override { print(evaluation_line(report)); }
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
    std::string peak_name_;
};

std::unique_ptr<Transport> connect(const RingTrainConfig& config, const RankConfig& rank,
                                   Exchange* exchange, const std::shared_ptr<LocalHub>& hub) {
    const Mesh mesh = config.mesh();
    TransportOptions options;
    options.rank = rank.rank;
    options.num_ranks = mesh.num_ranks();
    options.peers = peers_of(mesh)[static_cast<std::size_t>(rank.rank)];
    options.timeout = rank.plan.collective_timeout;
    if (config.transport == TransportKind::local) return make_local_transport(hub, options);
    return make_gloo_transport(config.address, *exchange, options);
}

RankConfig with_peak(const RingTrainConfig& config, int rank) {
    RankConfig out = rank_config(config, rank);
    if (config.device.kind != RankDevice::Kind::cpu) return out;
    if (const auto peak = cached_cpu_peak(default_peak_cache(), compute_type(config.spec))) {
        out.peak_flops = peak->flops / config.mesh().num_ranks();
        out.peak_name = peak->name;
    }
    return out;
}

// Runs one rank to its end; prints what went wrong.
int train_rank(const RingTrainConfig& config, int rank, Exchange* exchange,
               const std::shared_ptr<LocalHub>& hub) {
    try {
        const RankConfig own = with_peak(config, rank);
        const auto kernels = make_rank_kernels(config.device, own, config.tuning_file);
        if (!kernels) {
            std::cerr << format("rank {}: {}\n", rank, kernels.error().message);
            return kExitError;
        }
        const auto transport = connect(config, own, exchange, hub);
        PrintingObserver observer(rank, own.peak_name);
        ProgressPage progress{};
        const auto outcome =
            run_rank(own, {**kernels, *transport, observer, progress, stop_requested, nullptr});
        if (outcome) return *outcome == Outcome::finished ? 0 : kExitInterrupted;
        std::cerr << format("rank {}: {}\n", rank, outcome.error().message);
        return kExitError;
    } catch (const std::exception& error) {
        std::cerr << format("rank {}: {}\n", rank, error.what());
        return kExitError;
    }
}

int run_threads(const RingTrainConfig& config) {
    const int num_ranks = config.mesh().num_ranks();
    const auto hub = make_local_hub(num_ranks);
    auto exchanges = make_local_exchanges(num_ranks);
    std::vector<int> codes(static_cast<std::size_t>(num_ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < num_ranks; ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        threads.emplace_back(
            [&, rank, i] { codes[i] = train_rank(config, rank, exchanges[i].get(), hub); });
    }
    for (std::thread& thread : threads)
        thread.join();
    return *std::max_element(codes.begin(), codes.end());
}

pid_t spawn_rank(const Arguments& arguments, int rank, const std::string& exchange_dir) {
    std::vector<std::string> words = {"ring-train",         arguments.config_path, "--rank",
                                      std::to_string(rank), "--exchange",          exchange_dir};
    const auto pass_on = [&words](const std::string& flag, const std::string& value) {
        if (!value.empty()) words.insert(words.end(), {flag, value});
    };
    pass_on("--device", arguments.device);
    pass_on("--profile", arguments.request.profile);
    pass_on("--host-profile", arguments.request.host_profile);
    pass_on("--link", arguments.link);
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int failure = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
    RM_CHECK(failure == 0, "cannot start rank {}: error {}", rank, failure);
    return pid;
}

int exit_code_of(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Waits for all; passes a request to stop on, and ends the others when one has failed.
int wait_for(std::vector<pid_t> pids) {
    int worst = 0;
    bool told = false;
    while (!pids.empty()) {
        int status = 0;
        const pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended > 0) {
            std::erase(pids, ended);
            worst = std::max(worst, exit_code_of(status));
        } else {
            usleep(20'000);
        }
        const bool failed = worst != 0 && worst != kExitInterrupted;
        if ((stop_requested || failed) && !told) {
            told = true;
            for (const pid_t pid : pids)
                kill(pid, failed ? SIGKILL : SIGTERM);
        }
    }
    return worst;
}

int run_processes(const RingTrainConfig& config, const Arguments& arguments) {
    std::string dir = (std::filesystem::temp_directory_path() / "ring-train.XXXXXX").string();
    RM_CHECK(mkdtemp(dir.data()) != nullptr, "cannot make {}", dir);
    std::vector<pid_t> pids;
    for (int rank = 0; rank < config.mesh().num_ranks(); ++rank) {
        pids.push_back(spawn_rank(arguments, rank, dir));
    }
    const int code = wait_for(std::move(pids));
    std::filesystem::remove_all(dir);
    return code;
}

Status read_link(Arguments& arguments) {
    if (arguments.link.empty()) return {};
    char* end = nullptr;
    arguments.request.link_gbit = std::strtod(arguments.link.c_str(), &end);
    if (*end == '\0' && arguments.request.link_gbit > 0) return {};
    return invalid_argument("--link {}: it must be a positive number of Gbit/s", arguments.link);
}

Result<Arguments> parse_arguments(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--dry-run") {
            arguments.dry_run = true;
        } else if (word == "--device" && has_value) {
            arguments.device = argv[++i];
        } else if (word == "--profile" && has_value) {
            arguments.request.profile = argv[++i];
        } else if (word == "--host-profile" && has_value) {
            arguments.request.host_profile = argv[++i];
        } else if (word == "--figure" && has_value) {
            arguments.request.figure = argv[++i];
        } else if (word == "--link" && has_value) {
            arguments.link = argv[++i];
        } else if (word == "--rank" && has_value) {
            arguments.rank = std::atoi(argv[++i]);
        } else if (word == "--exchange" && has_value) {
            arguments.exchange_dir = argv[++i];
        } else if (word.rfind("-", 0) == 0 || !arguments.config_path.empty()) {
            return invalid_argument("'{}' is not expected\n{}", word, kUsage);
        } else {
            arguments.config_path = word;
        }
    }
    if (arguments.config_path.empty())
        return invalid_argument("no configuration given\n{}", kUsage);
    if (!arguments.request.figure.empty() && !arguments.dry_run)
        return invalid_argument("--figure is drawn by --dry-run only\n{}", kUsage);
    RM_RETURN_IF_ERROR(read_link(arguments));
    return arguments;
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

int dispatch(const Arguments& arguments, const RingTrainConfig& config) {
    if (arguments.dry_run) {
        const auto text = describe_layout(config);
        if (text) std::cout << *text;
        const auto steps =
            text ? describe_dry_run(config, arguments.request) : Result<std::string>(text.error());
        (steps ? std::cout : std::cerr) << (steps ? *steps : steps.error().message + "\n");
        return steps ? 0 : kExitUsage;
    }
    if (arguments.rank >= 0) {
        const auto exchange = make_directory_exchange(arguments.exchange_dir, arguments.rank,
                                                      config.mesh().num_ranks());
        return train_rank(config, arguments.rank, exchange.get(), nullptr);
    }
    // Once, and before any rank is started.
    if (const Status usable = check_rank_device(config.device, config.spec); !usable) {
        std::cerr << usable.error().message << '\n';
        return kExitError;
    }
    return config.ranks == RankKind::threads ? run_threads(config)
                                             : run_processes(config, arguments);
}

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    const auto arguments = rm::parse_arguments(argc, argv);
    if (!arguments) {
        std::cerr << arguments.error().message << '\n';
        return rm::kExitUsage;
    }
    const auto config = rm::read_config(*arguments);
    if (!config) {
        std::cerr << config.error().message << '\n';
        return rm::kExitUsage;
    }
    signal(SIGINT, rm::request_stop);
    signal(SIGTERM, rm::request_stop);
    try {
        return rm::dispatch(*arguments, *config);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return rm::kExitError;
    }
}
