// The cost of a run over its restarts, by a price list, through real daemons.
#include <algorithm>
#include <cmath>

#include "tests/e2e/support/daemons.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {
namespace {

constexpr double kPerHour = 36;  // 0.01 a second
constexpr double kWatts = 100, kHostWatts = 20, kPue = 1.5, kGrams = 400;

class Cost : public Daemons {
protected:
    Cost() : Daemons(2) {}
    void SetUp() override {
        write_file(
            path("prices.yaml"),
            format("cpu:\n  price: {{per_device_hour: {}, currency: USD, date: 2026-11-01}}\n"
                   "  power: {{device_watts: {}, host_watts: {}, pue: {}, "
                   "grams_co2_per_kwh: {}}}\n",
                   kPerHour, kWatts, kHostWatts, kPue, kGrams));
        start_controller({"--http", "127.0.0.1:0", "--prices", path("prices.yaml")});
        for (const char* name : {"w0", "w1"})
            start_worker(name);
    }
    // Ends the attempt of that number after it has trained.
    void kill_attempt(int epoch) {
        const auto trains = [&] {
            const Json attempts = job().value("attempts", Json::array());
            return std::ssize(attempts) == epoch && attempts.back().contains("lastStep");
        };
        ASSERT_TRUE(wait_until(Seconds{60}, trains)) << job().dump(2);
        const Json shim = Json::parse(read_file(path(format("w0/attempts/e{}/shim.json", epoch))));
        kill(shim["ranks"][0]["pid"].get<pid_t>(), SIGKILL);
    }
    // The value of a series of this job on the controller's page.
    double metric(const std::string& name) {
        const std::string http = Json::parse(read_file(path("c/controller.json")))["http"];
        std::istringstream page(http_get(http, "/metrics"));
        for (std::string line; std::getline(page, line);) {
            if (line.starts_with(name + "{") && line.find(job_) != std::string::npos)
                return std::stod(line.substr(line.rfind(' ')));
        }
        return std::nan("");
    }
};

double seconds_between(const std::string& from, const std::string& to) {
    const auto seconds = [](const std::string& text) {
        std::tm time{};
        const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
        return static_cast<double>(timegm(&time)) + (*rest == '.' ? std::stod(rest) : 0);
    };
    return seconds(to) - seconds(from);
}

TEST_F(Cost, OfARunWithTwoRestartsIsTheSumOfItsAttempts) {
    submit_job({.stages = "  - {context: 256, batch: 512, tokens: 153600, learning_rate: 1e-3}\n",
                .extra = "checkpoint: {every: 10 steps}\nretry: {max: 5}\n"});
    kill_attempt(1);
    kill_attempt(2);
    const bool done = wait_until(Seconds{90}, [&] { return job()["state"] == "succeeded"; });
    ASSERT_TRUE(done) << job().dump(2);
    const Json shown = job();
    ASSERT_EQ(shown["attempts"].size(), 3u);
    double seconds = 0, money = 0;
    for (const Json& attempt : shown["attempts"]) {
        const double held = seconds_between(attempt["started"], attempt["ended"]);
        EXPECT_NEAR(attempt["cost"]["money"].get<double>(), 2 * held * kPerHour / 3600, 1e-4);
        money += attempt["cost"]["money"].get<double>();
        seconds += held;
    }
    const Json& cost = shown["cost"];
    EXPECT_DOUBLE_EQ(cost["money"].get<double>(), money);
    EXPECT_EQ(cost["currency"], "USD");
    const double kwh = 2 * seconds / 3600 * (kWatts + kHostWatts) / 1000 * kPue;
    EXPECT_NEAR(cost["kwh"].get<double>(), kwh, 1e-6);
    EXPECT_NEAR(cost["kgCo2"].get<double>(), kwh * kGrams / 1000, 1e-6);
    EXPECT_NEAR(metric("ringmaster_run_cost"), money, 1e-6 * money);
    EXPECT_NEAR(metric("ringmaster_run_energy_joules"), kwh * 3.6e6, 1);
    const Json groups = Json::parse(there({"history", "--group-by", "user", "-o", "json"}).out);
    EXPECT_NEAR(groups.at(0).at("money").at("USD").get<double>(), money, 1e-9);
    std::cout << there({"history"}).out << there({"show", job_}).out;
}

}  // namespace
}  // namespace rm::e2e
