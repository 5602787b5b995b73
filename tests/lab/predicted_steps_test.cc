#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "tests/lab/surveyed_lab.h"

// Steps as the controller plans them from measured links and a measured profile, beside the same
// steps trained over gloo.
namespace rm::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kHosts = 6;
constexpr int kSteps = 4;
constexpr double kMostOff = 0.10;  // of the mean error
constexpr double kDiffers = 0.05;  // orders of one mesh that are told apart
constexpr int kRounds = 3;         // other work on this machine may spoil one

// The hosts share this machine's cores, which no plan knows: contexts are short, so that a step
// waits for its links and next to no time for cores.
struct Case {
    std::string mesh;
    Order order;
    std::string model = "micro";
    std::int64_t context = 1536;
    int sequences = 1;  // of a step
};

const std::vector<Case> kCases = {
    {"{ring: 6}", {"n0", "n1", "n2", "n3", "n4", "n5"}},
    {"{ring: 6}", {"n0", "n1", "n3", "n2", "n4", "n5"}},
    {"{ring: 6}", {"n0", "n3", "n1", "n4", "n2", "n5"}},
    {"{ring: 3}", {"n3", "n4", "n5"}},
    {"{ring: 3}", {"n0", "n2", "n4"}},
    {"{ring: 3, data: 2}", {"n0", "n1", "n2", "n3", "n4", "n5"}, "micro", 1536, 2},
    {"{ring: 3, data: 2}", {"n0", "n2", "n4", "n1", "n3", "n5"}, "micro", 1536, 2},
    {"{ring: 3, ulysses: 2}", {"n0", "n1", "n2", "n3", "n4", "n5"}},
    {"{ring: 3, ulysses: 2}", {"n0", "n3", "n1", "n4", "n2", "n5"}},
    {"{ring: 3, tensor: 2}", {"n0", "n1", "n2", "n5", "n3", "n4"}},
    {"{ring: 3, tensor: 2}", {"n0", "n3", "n1", "n4", "n2", "n5"}},
    {"{data: 6}", {"n0", "n1", "n2", "n3", "n4", "n5"}, "tiny", 512, 6},
    {"{ring: 2, data: 2, zero: 3}", {"n0", "n1", "n3", "n4"}, "micro", 1536, 2},
    {"{ring: 2, data: 2, zero: 3}", {"n0", "n3", "n1", "n4"}, "micro", 1536, 2},
};

struct Outcome {
    double planned = 0, measured = 0;  // seconds
    double error() const { return planned / measured - 1; }
};

double mean_error(const std::vector<Outcome>& outcomes) {
    double sum = 0;
    for (const Outcome& outcome : outcomes)
        sum += std::abs(outcome.error());
    return sum / static_cast<double>(outcomes.size());
}

// Orders of one mesh whose measured steps differ and whose plans say the opposite.
std::vector<std::string> wrong_ranks(const std::vector<Outcome>& outcomes) {
    std::vector<std::string> wrong;
    for (std::size_t a = 0; a < outcomes.size(); ++a) {
        for (std::size_t b = 0; b < outcomes.size(); ++b) {
            if (kCases[a].mesh != kCases[b].mesh) continue;
            const bool slower = outcomes[a].measured > (1 + kDiffers) * outcomes[b].measured;
            if (slower && outcomes[a].planned <= outcomes[b].planned)
                wrong.push_back(format("{} on {}", kCases[a].mesh, joined(kCases[a].order, " ")));
        }
    }
    return wrong;
}

class PredictedSteps : public SurveyedLab {
protected:
    static std::vector<std::string> slots() { return {"--slots-on-machine", format("{}", kHosts)}; }

    // Measured once: the hosts are one machine. No controller is needed.
    std::string measure_profiles() {
        fs::create_directory(path("measured"));
        fs::permissions(path("measured"), fs::perms::owner_all);
        std::vector<std::string> argv = {program("ringmaster-worker"),
                                         "--state",
                                         path("measured"),
                                         "--controller",
                                         "unix:" + path("nobody.sock"),
                                         "--http",
                                         "none",
                                         "--profile",
                                         "now"};
        for (const std::string& argument : slots())
            argv.push_back(argument);
        const auto worker = start(std::move(argv));
        const auto are_measured = [&] {
            int files = 0;
            std::error_code none_yet;
            for (const auto& file : fs::directory_iterator(path("measured/profiles"), none_yet))
                files += file.path().extension() == ".json";
            return files == 2;  // bf16 and fp32
        };
        EXPECT_TRUE(e2e::wait_until(Seconds{150}, are_measured)) << worker->err();
        worker->signal(SIGTERM);
        worker->wait(Seconds{20});
        return path("measured/profiles");
    }

    Outcome train(const Case& of) {
        const std::int64_t batch = of.context * of.sequences;
        const std::string job = run_to_end(
            {.model = format("{{preset: {}}}", of.model),
             .stages = format("  - {{context: {}, batch: {}, tokens: {}, learning_rate: 1e-3}}\n",
                              of.context, batch, batch * kSteps),
             .parallel = of.mesh,
             .extra = format("resources: {{placement: [{}]}}\n", joined(of.order, ", "))});
        EXPECT_EQ(hosts_of(job), of.order);
        const Json attempt = show(job).at("attempts").back();
        return {.planned = attempt.value("predicted", Json::object()).value("stepSeconds", 0.0),
                .measured = step_time(job, kSteps, batch)};
    }
    std::vector<Outcome> train_all() {
        std::vector<Outcome> outcomes;
        std::cout << "| mesh | ranks on | planned s | measured s | off |\n";
        for (const Case& of : kCases) {
            const Outcome it = outcomes.emplace_back(train(of));
            std::cout << format("| {} | {} | {:.3} | {:.3} | {:.1} % |\n",
                                of.mesh.substr(1, of.mesh.size() - 2), joined(of.order, " "),
                                it.planned, it.measured, 100 * it.error())
                      << std::flush;
        }
        std::cout << format("mean error {:.1} %\n", 100 * mean_error(outcomes));
        return outcomes;
    }
};

TEST_F(PredictedSteps, AreNearTheMeasuredOnesAndRankOrdersAsTheyAre) {
    start_all(kTwoRacks, {.worker = slots(), .profiles = measure_profiles()});
    std::vector<Outcome> outcomes;
    for (int round = 0; round < kRounds; ++round) {
        survey();
        outcomes = train_all();
        if (mean_error(outcomes) <= kMostOff && wrong_ranks(outcomes).empty()) return;
    }
    EXPECT_LE(mean_error(outcomes), kMostOff);
    EXPECT_EQ(joined(wrong_ranks(outcomes), "; "), "");
}

}  // namespace
}  // namespace rm::lab
