#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/engine/predict.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench predict [--steps N] [--jobs NAME,...] [--seconds N] [--profiles DIR]\n"
    "                          [--context TOKENS] [--judge all|memory] [--json FILE]\n"
    "Predicts steps of five jobs with a profile of this machine's CPU, runs them, and compares:\n"
    "medians of N steps (5). Fails where a step is more than 20 % off, an arena is not exact,\n"
    "exposed ring or optimizer time is off by more than 20 % and 2 % of the step, offload that\n"
    "should be hidden takes 2 % of the step, or fewer than two jobs hide the offload of most of\n"
    "their activations. --seconds: for measuring a profile (25). --profiles: a folder of "
    "profiles;\n"
    "missing ones are measured and stored there. --context: for all jobs, not their own. --judge\n"
    "memory: times do not count. Needs two idle cores.\n";

constexpr double kTolerance = 0.20;
constexpr double kSmallPart = 0.02;  // of a step

enum class Judge { all, memory };

struct Arguments {
    int steps = 5;
    std::string jobs;  // names between commas; empty: all
    Seconds budget{25};
    std::string profiles;  // empty: none are kept
    std::int64_t context = 0;
    Judge judge = Judge::all;
    std::string json;  // empty: nowhere
};

// The requested jobs, in the jobs' own order.
Result<std::vector<PredictJob>> jobs_of(const Arguments& arguments) {
    std::vector<PredictJob> jobs = predict_jobs();
    if (arguments.context > 0) {
        for (PredictJob& job : jobs)
            job.shape.context = arguments.context;
    }
    if (arguments.jobs.empty()) return jobs;
    std::vector<PredictJob> wanted;
    std::string_view rest = arguments.jobs;
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        const auto found = std::find_if(jobs.begin(), jobs.end(),
                                        [&](const PredictJob& job) { return job.name == name; });
        if (found == jobs.end()) return invalid_argument("--jobs: there is no job {}", name);
        wanted.push_back(*found);
    }
    return wanted;
}

// A time, predicted and measured.
struct Measured {
    double median = 0, least = 0, most = 0;
};
struct Part {
    double foretold = 0;
    Measured measured;
    double off() const { return std::abs(measured.median - foretold); }
};

Part part_of(const ForetoldStep& foretold, const RealSteps& real, double StepParts::*which) {
    std::vector<double> times;
    for (const StepParts& step : real.steps)
        times.push_back(step.*which);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    return {foretold.parts.*which, {median(times), *least, *most}};
}

struct Outcome {
    std::string name;
    ForetoldStep foretold;
    RealSteps real;
    Part all, offload, ring, optimizer;

    double ratio() const { return all.foretold / all.measured.median; }
    bool near(const Part& part) const {
        return part.off() <= kTolerance * part.foretold ||
               part.off() <= kSmallPart * all.measured.median;
    }
    // Whether the host's arena is at least as large as the device's.
    bool offloads_most() const { return real.host >= real.device; }
    bool should_hide() const { return offload.foretold < kSmallPart * all.foretold; }
    bool hides() const { return offload.measured.median < kSmallPart * all.measured.median; }
    bool exact() const { return foretold.device == real.device && foretold.host == real.host; }
};

Outcome outcome_of(const PredictJob& job, ForetoldStep foretold, RealSteps real) {
    Outcome outcome{job.name, std::move(foretold), std::move(real), {}, {}, {}, {}};
    outcome.all = part_of(outcome.foretold, outcome.real, &StepParts::all);
    outcome.offload = part_of(outcome.foretold, outcome.real, &StepParts::offload);
    outcome.ring = part_of(outcome.foretold, outcome.real, &StepParts::ring);
    outcome.optimizer = part_of(outcome.foretold, outcome.real, &StepParts::optimizer);
    return outcome;
}

// The parts of the rule that a job breaks.
std::vector<std::string> failures_of(const Outcome& job, Judge judge) {
    std::vector<std::string> failures;
    const auto expect = [&](bool kept, std::string_view what) {
        if (!kept) failures.push_back(format("{}: {}", job.name, what));
    };
    expect(job.exact(), "an arena is not as predicted");
    if (judge == Judge::memory) return failures;
    expect(std::abs(job.ratio() - 1) <= kTolerance, "the step is more than 20 % off");
    expect(!job.should_hide() || job.hides(), "offload that should hide takes 2 % of the step");
    expect(job.near(job.ring), "exposed ring time is off");
    expect(job.near(job.optimizer), "optimizer time is off");
    return failures;
}

std::vector<std::string> failures_of(const std::vector<Outcome>& jobs, const Arguments& arguments) {
    std::vector<std::string> failures;
    for (const Outcome& job : jobs) {
        for (std::string& failure : failures_of(job, arguments.judge))
            failures.push_back(std::move(failure));
    }
    const auto hidden = std::count_if(jobs.begin(), jobs.end(), [](const Outcome& job) {
        return job.offloads_most() && job.should_hide() && job.hides();
    });
    if (arguments.judge == Judge::all && arguments.jobs.empty() && hidden < 2)
        failures.push_back(format("{} jobs offload most of their activations unseen", hidden));
    return failures;
}

std::string verdict(bool kept) {
    return kept ? "ok" : "OFF";
}

std::string seconds_text(const Measured& measured) {
    return format("{:6.3} ({:.3} to {:.3}) s", measured.median, measured.least, measured.most);
}

std::string part_text(std::string_view name, const Part& part, const Outcome& job, bool kept) {
    return format("    {:<14} predicted {:8.4} s, measured {:8.4} s, {:5.2} % of the step  {}\n",
                  name, part.foretold, part.measured.median,
                  100 * part.measured.median / job.all.measured.median, verdict(kept));
}

std::string arena_text(std::string_view name, Bytes foretold, Bytes real) {
    return format("    {:<14} predicted {}, planned {} bytes  {}\n", name, foretold.value,
                  real.value, foretold == real ? "equal" : "NOT equal");
}

void print(const Outcome& job) {
    std::string offload = "offload";
    if (job.offloads_most()) offload += " (most)";
    std::cout << format("{:<9} predicted {:6.3} s, measured {}, ratio {:4.2}  {}\n", job.name,
                        job.all.foretold, seconds_text(job.all.measured), job.ratio(),
                        verdict(std::abs(job.ratio() - 1) <= kTolerance))
              << arena_text("device arena", job.foretold.device, job.real.device)
              << arena_text("host arena", job.foretold.host, job.real.host)
              << part_text(offload, job.offload, job, !job.should_hide() || job.hides())
              << part_text("ring", job.ring, job, job.near(job.ring))
              << part_text("optimizer", job.optimizer, job, job.near(job.optimizer)) << std::flush;
}

nlohmann::ordered_json to_json(const Part& part) {
    const auto& [middle, least, most] = part.measured;
    return {{"predicted", part.foretold},
            {"measured", {{"median", middle}, {"min", least}, {"max", most}}}};
}

nlohmann::ordered_json to_json(const Outcome& job) {
    return {
        {"job", job.name},
        {"ratio", job.ratio()},
        {"step_seconds", to_json(job.all)},
        {"offload_seconds", to_json(job.offload)},
        {"ring_seconds", to_json(job.ring)},
        {"optimizer_seconds", to_json(job.optimizer)},
        {"device_bytes",
         {{"predicted", job.foretold.device.value}, {"planned", job.real.device.value}}},
        {"host_bytes", {{"predicted", job.foretold.host.value}, {"planned", job.real.host.value}}},
        {"predicted_phases", job.foretold.parts.phases},
        {"last_phases", job.real.steps.back().phases}};
}

Status write_json(const Arguments& arguments, const std::vector<Outcome>& jobs,
                  const std::vector<std::string>& failures) {
    nlohmann::ordered_json json{{"steps", arguments.steps},
                                {"jobs", nlohmann::ordered_json::array()},
                                {"failures", failures}};
    for (const Outcome& job : jobs)
        json["jobs"].push_back(to_json(job));
    std::ofstream file(arguments.json);
    file << json.dump(2) << "\n" << std::flush;
    if (!file) return make_error(ErrorCode::unavailable, "{}: cannot be written", arguments.json);
    return {};
}

// All profiles are measured before the first job runs: what a job leaves behind disturbs none.
Result<std::vector<Outcome>> run_jobs(const Arguments& arguments) {
    RM_TRY(const auto jobs, jobs_of(arguments));
    MachineProfiles profiles(arguments.budget, arguments.profiles);
    for (const PredictJob& job : jobs) {
        RM_TRY(const DeviceProfile* profile, profiles.of(job.cores));
        std::cout << format("{:<9} {}, {}\n", job.name, profile->name, profile->provenance)
                  << std::flush;
    }
    const LinkSpeed link = measure_local_link();
    std::cout << format("links: {:.1} us a message, {:.2} GB/s\n", link.latency.value * 1e6,
                        link.bytes_per_sec * 1e-9);
    std::vector<Outcome> outcomes;
    for (const PredictJob& job : jobs) {
        RM_TRY(const DeviceProfile* profile, profiles.of(job.cores));
        RM_TRY(ForetoldStep foretold, foretell(job, *profile, link));
        outcomes.push_back(outcome_of(job, std::move(foretold), run_steps(job, arguments.steps)));
        print(outcomes.back());
    }
    return outcomes;
}

Result<int> judge_jobs(const Arguments& arguments) {
    RM_TRY(const std::vector<Outcome> jobs, run_jobs(arguments));
    const std::vector<std::string> failures = failures_of(jobs, arguments);
    if (!arguments.json.empty()) RM_RETURN_IF_ERROR(write_json(arguments, jobs, failures));
    for (const std::string& failure : failures)
        std::cerr << "ring-bench predict: " << failure << "\n";
    return failures.empty() ? 0 : 1;
}

}  // namespace

int run_predict(std::span<char*> words) {
    Arguments a;
    const Command command{
        .program = "ring-bench predict",
        .usage = kUsage,
        .flags = {{"--steps", number(a.steps, 1, 1000)},
                  {"--seconds", number(a.budget.value, 1, 1000)},
                  {"--context", number(a.context, 1, 1 << 20)},
                  {"--jobs", text(a.jobs)},
                  {"--profiles", text(a.profiles)},
                  {"--json", text(a.json)},
                  {"--judge", one_of(a.judge, {{"all", Judge::all}, {"memory", Judge::memory}})}}};
    return run_command(words, command, [&] { return judge_jobs(a); });
}

}  // namespace rm::bench
