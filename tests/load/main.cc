#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "tests/load/controller_process.h"
#include "tests/load/curves.h"
#include "tests/load/listing.h"
#include "tests/load/many_jobs.h"
#include "tests/load/pages.h"
#include "tests/load/running_fleet.h"
#include "tests/load/sessions.h"
#include "tests/load/submits.h"

// Loads a controller process of its own and reports the costs (docs/benchmarks).
namespace rm::load {
namespace {

struct Flags {
    std::string dir;  // empty: a directory of its own in the system's temporary one
    std::string fsync_delay = "0 s";
    SubmitLoad submits;
    int count = 10'000;
    double seconds = 60;
    double per_second = 400;
    int jobs = 100'000;
    int pending = 1000;
    int repeats = 20;
    CurveLoad curves;
    FleetLoad fleet;
    int pages = 50;
};

// Each connection is a file, here and in the controller.
void allow_many_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

class WorkDir {
public:
    explicit WorkDir(const std::string& given) : path_(given) {
        if (path_.empty()) path_ = std::filesystem::temp_directory_path().string();
        path_ += "/ringmaster-load-XXXXXX";
        RM_CHECK(::mkdtemp(path_.data()) != nullptr, "cannot make {}", path_);
    }
    ~WorkDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string state() const { return path_ + "/state"; }

private:
    std::string path_;
};

void print_use(const char* when, const ProcessUse& use) {
    std::printf("controller %s: %.2f s of CPU, %.1f MiB resident, %d threads\n", when,
                use.cpu.value, static_cast<double>(use.resident.value) / (1 << 20),
                use.num_threads);
}

int submits(const Flags& flags) {
    const WorkDir directory(flags.dir);
    const Seconds delay = parse_seconds(flags.fsync_delay).value();
    ControllerProcess controller({directory.state(), delay, {}});
    const SubmitReport report = run_submits(controller.address(), flags.submits);
    std::printf(
        "%zu submits acknowledged in %.2f s: %.0f per second, p50 %.1f ms, p99 %.1f ms, "
        "worst %.1f ms\n",
        report.acked.size(), report.elapsed.value,
        static_cast<double>(report.acked.size()) / report.elapsed.value,
        report.percentile(0.5) * 1e3, report.percentile(0.99) * 1e3, report.percentile(1) * 1e3);
    for (const auto& [message, count] : report.errors)
        std::printf("%d errors: %s\n", count, message.c_str());
    print_use("after it", controller.use());
    return report.errors.empty() ? 0 : 1;
}

int sessions(const Flags& flags) {
    const WorkDir directory(flags.dir);
    ControllerProcess controller({directory.state(), {}, {}});
    print_use("before", controller.use());
    Sessions sessions(controller.address(), flags.count, flags.per_second);
    if (!sessions.wait_until_open(Seconds{60})) std::printf("not every session opened\n");
    std::this_thread::sleep_for(std::chrono::seconds(10));
    const ProcessUse before = controller.use();
    const long echoes = sessions.counts().echoes;
    print_use("with all sessions open", before);
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
    const ProcessUse after = controller.use();
    const SessionCounts counts = sessions.counts();
    print_use("at the end", after);
    std::printf(
        "%d sessions opened, %d ended; %.0f echoes per second; the controller used %.3f of "
        "a core\n",
        counts.opened, counts.ended, static_cast<double>(counts.echoes - echoes) / flags.seconds,
        (after.cpu.value - before.cpu.value) / flags.seconds);
    return counts.ended == 0 ? 0 : 1;
}

int list(const Flags& flags) {
    const WorkDir directory(flags.dir);
    store_jobs(directory.state(), flags.jobs, flags.pending);
    const auto start = std::chrono::steady_clock::now();
    ControllerProcess controller({directory.state(), {}, {}});
    std::printf("%d jobs, %d of them pending: listens after %.2f s\n", flags.jobs, flags.pending,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    for (const CallTimes& times : time_lists(controller.address(), flags.repeats)) {
        std::printf("%-24s median %7.2f ms, worst %7.2f ms, %d rows\n", times.what.c_str(),
                    times.median * 1e3, times.worst * 1e3, times.rows);
    }
    print_use("after it", controller.use());
    return 0;
}

int curves(const Flags& flags) {
    const WorkDir directory(flags.dir);
    const CurveReport report = measure_curves(directory.state(), flags.curves);
    std::printf("%lld steps of rank 0 and as many of %d others: telemetry.db %.1f MB, %.0f s\n",
                static_cast<long long>(flags.curves.steps), flags.curves.other_ranks,
                static_cast<double>(report.database.value) * 1e-6, report.writing.value);
    for (const CurveQuestion& question : report.questions) {
        std::printf("%-32s median %7.2f ms, worst %7.2f ms, %lld points\n", question.what.c_str(),
                    question.median * 1e3, question.worst * 1e3,
                    static_cast<long long>(question.points));
    }
    return 0;
}

// The questions of the page of a run and of the page of the cluster (dashboards/web/src/pages).
std::vector<PageQuestion> run_page(const std::string& job) {
    return {{"/api/v1/jobs/" + job + "/steps?quantity=seconds,waited&rank=all&max_points=48",
             Seconds{5}},
            {"/api/v1/jobs/" + job + "/explain?", Seconds{15}}};
}
std::vector<PageQuestion> cluster_page() {
    return {{"/api/v1/links?", Seconds{20}}};
}

double share_of_a_core(const ControllerProcess& controller, double seconds) {
    const ProcessUse before = controller.use();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return (controller.use().cpu.value - before.cpu.value) / seconds;
}

// Returns the number of faults.
long print_cost_of(const char* name, const ControllerProcess& controller, const Flags& flags,
                   const std::vector<PageQuestion>& questions) {
    const double without = share_of_a_core(controller, flags.seconds);
    const Pages pages(controller.http(), flags.pages, questions);
    std::this_thread::sleep_for(std::chrono::seconds(10));
    const PageCounts before = pages.counts();
    const double with = share_of_a_core(controller, flags.seconds);
    const PageCounts after = pages.counts();
    std::printf(
        "%d pages of %s: %.1f %% of a core, %.1f %% without them; %ld lines of events, "
        "%ld answers, the slowest after %.2f s, %ld times the last was fresh, %ld faults %s\n",
        flags.pages, name, 100 * with, 100 * without, after.events - before.events,
        after.answers - before.answers, after.worst, after.fresh - before.fresh, after.faults,
        after.fault.c_str());
    return after.faults;
}

int pages(const Flags& flags) {
    const WorkDir directory(flags.dir);
    ControllerProcess controller({directory.state(), {}, {}, "127.0.0.1:0"});
    const RunningFleet fleet(controller.address(), flags.fleet);
    std::printf("%d nodes, a job of %d ranks, %.1f steps a second\n", flags.fleet.nodes,
                flags.fleet.nodes * flags.fleet.devices, flags.fleet.steps_per_second);
    std::this_thread::sleep_for(std::chrono::seconds(20));
    long faults = print_cost_of("the run", controller, flags, run_page(fleet.job()));
    faults += print_cost_of("the cluster", controller, flags, cluster_page());
    print_use("at the end", controller.use());
    std::printf(
        "%ld steps reported, %.1f %% of them kept\n", fleet.num_steps(),
        100.0 * static_cast<double>(fleet.num_kept()) /
            static_cast<double>(fleet.num_steps() * flags.fleet.nodes * flags.fleet.devices));
    return faults == 0 ? 0 : 1;
}

int main_of(int argc, char** argv) {
    CLI::App app("Loads a controller and measures it");
    app.require_subcommand(1);
    Flags flags;
    app.add_option("--dir", flags.dir, "Where the state directory is made");
    auto* submit = app.add_subcommand("submits", "Clients submit at a rate");
    submit->add_option("--clients", flags.submits.clients)->capture_default_str();
    submit->add_option("--rate", flags.submits.rate)->capture_default_str();
    submit->add_option("--seconds", flags.submits.duration.value)->capture_default_str();
    submit->add_option("--fsync-delay", flags.fsync_delay, "Such as 0.005 s")
        ->capture_default_str();
    auto* open = app.add_subcommand("sessions", "Workers that do nothing");
    open->add_option("--count", flags.count)->capture_default_str();
    open->add_option("--seconds", flags.seconds)->capture_default_str();
    open->add_option("--per-second", flags.per_second, "Opened")->capture_default_str();
    auto* lists = app.add_subcommand("list", "Lists over many jobs");
    lists->add_option("--jobs", flags.jobs)->capture_default_str();
    lists->add_option("--pending", flags.pending)->capture_default_str();
    lists->add_option("--repeats", flags.repeats)->capture_default_str();
    auto* curve = app.add_subcommand("curves", "The steps of one job in telemetry.db");
    curve->add_option("--steps", flags.curves.steps)->capture_default_str();
    curve->add_option("--other-ranks", flags.curves.other_ranks)->capture_default_str();
    curve->add_option("--repeats", flags.curves.repeats)->capture_default_str();
    auto* page = app.add_subcommand("pages", "Pages that are open while a large job runs");
    page->add_option("--count", flags.pages)->capture_default_str();
    page->add_option("--nodes", flags.fleet.nodes)->capture_default_str();
    page->add_option("--devices", flags.fleet.devices, "Of each node")->capture_default_str();
    page->add_option("--rate", flags.fleet.steps_per_second, "Steps a second")
        ->capture_default_str();
    page->add_option("--seconds", flags.seconds)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    allow_many_files();
    if (*submit) return submits(flags);
    if (*curve) return curves(flags);
    if (*page) return pages(flags);
    return *open ? sessions(flags) : list(flags);
}

}  // namespace
}  // namespace rm::load

int main(int argc, char** argv) {
    return rm::load::main_of(argc, argv);
}
