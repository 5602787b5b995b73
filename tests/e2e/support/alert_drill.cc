#include "tests/e2e/support/alert_drill.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>

#include "base/clock.h"

namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

constexpr double kShorter = 30;
constexpr double kScrapeSeconds = 15;  // of dashboards/prometheus/prometheus.yml

// Seconds in the expressions of rules, beside durations.
constexpr std::array kSecondsInRules = {", 600)", ", 3600)", "> 1800"};

double minutes_of(const std::string& count, char unit) {
    const std::map<char, double> minutes = {{'m', 1}, {'h', 60}, {'d', 24 * 60}};
    return std::stod(count) * minutes.at(unit);
}

// Durations of ranges, offsets and `for`; names of series ("avg5m") are none.
std::string with_shorter_durations(const std::string& rules, double seconds_per_minute) {
    static const std::regex duration("(\\[|for: |offset )(\\d+)([mhd])");
    std::string text;
    std::size_t done = 0;
    for (std::sregex_iterator at(rules.begin(), rules.end(), duration), end; at != end; ++at) {
        const double seconds = minutes_of((*at)[2], (*at)[3].str()[0]) * seconds_per_minute;
        text += rules.substr(done, static_cast<std::size_t>(at->position()) - done) +
                format("{}{}s", (*at)[1].str(), std::llround(seconds));
        done = static_cast<std::size_t>(at->position() + at->length());
    }
    return text + rules.substr(done);
}

std::string with_shorter_seconds(std::string rules, double factor) {
    for (const std::string known : kSecondsInRules) {
        const std::size_t at = rules.find(known);
        if (at == std::string::npos) continue;
        const std::size_t first = known.find_first_of("0123456789");
        const std::size_t size = known.find_last_of("0123456789") + 1 - first;
        const double seconds = std::stod(known.substr(first)) * factor;
        rules.replace(at + first, size, format("{}", std::llround(seconds)));
    }
    return rules;
}

}  // namespace

Patience Patience::chosen() {
    const char* wanted = std::getenv("RM_ALERT_PATIENCE");
    if (wanted != nullptr && std::string(wanted) == "real")
        return {60, format("{}s", kScrapeSeconds)};
    return {60 / kShorter, format("{}ms", std::llround(1000 * kScrapeSeconds / kShorter))};
}

std::string Patience::applied_to(std::string rules) const {
    return with_shorter_seconds(with_shorter_durations(rules, seconds_per_minute),
                                seconds_per_minute / 60);
}

std::string AlertDrill::why_not() {
    if (!Prometheus::is_there()) return format("{} is not installed", Prometheus::kProgram);
    if (!Alertmanager::is_there()) return format("{} is not installed", Alertmanager::kProgram);
    return "";
}

AlertDrill::AlertDrill(const std::string& prefix, const std::string& controller,
                       const std::string& tls) {
    std::string all;
    for (const char* kind : {"rules", "alerts"}) {
        for (const auto& file : fs::directory_iterator(std::string(RM_RULES) + "/" + kind)) {
            const std::string text = read_file(file.path());
            all += text;
            write_file(format("{}.{}.{}", prefix, kind, file.path().filename().string()),
                       patience.applied_to(text));
        }
    }
    for (const char* known : kSecondsInRules)
        RM_CHECK(all.find(known) != std::string::npos, "no rule has '{}' any more", known);
    alertmanager_ = std::make_unique<Alertmanager>(prefix + ".alertmanager");
    prometheus_ = std::make_unique<Prometheus>(
        std::vector{controller}, prefix + ".prometheus",
        Monitoring{.rules = {prefix + ".rules.*.yml", prefix + ".alerts.*.yml"},
                   .alertmanager = alertmanager_->address(),
                   .interval = patience.interval,
                   .tls = tls});
}

void AlertDrill::run(const std::vector<DrilledFault>& faults) const {
    // Alerts of earlier faults may still fire.
    times_until_all(faults, /*fire=*/false, std::vector<Stopwatch>(faults.size()));
    std::vector<Stopwatch> happened, ended;
    for (const DrilledFault& fault : faults) {
        happened.emplace_back();
        fault.happen();
    }
    const auto fired = times_until_all(faults, /*fire=*/true, happened);
    for (const DrilledFault& fault : faults) {
        ended.emplace_back();
        fault.end();
    }
    const auto gone = times_until_all(faults, /*fire=*/false, ended);
    for (std::size_t i = 0; i < faults.size(); ++i)
        std::cout << format("| {} | {} | {:.1} s | {:.1} s |\n", faults[i].alert, faults[i].what,
                            fired[i], gone[i]);
    std::cout << std::flush;
}

std::vector<double> AlertDrill::times_until_all(const std::vector<DrilledFault>& faults, bool fire,
                                                const std::vector<Stopwatch>& since) const {
    double longest = 0;
    for (const DrilledFault& fault : faults)
        longest = std::max(longest, patience.minutes(fault.minutes).value);
    std::map<std::string, double> times;
    const bool all = wait_until(Seconds{1.5 * longest + 60}, [&] {
        const std::set<std::string> now = alertmanager_->names();
        for (std::size_t i = 0; i < faults.size(); ++i) {
            if (now.contains(faults[i].alert) == fire)
                times.try_emplace(faults[i].alert, since[i].seconds());
        }
        return times.size() == faults.size();
    });
    std::vector<double> in_order;
    for (const DrilledFault& fault : faults) {
        EXPECT_TRUE(times.contains(fault.alert))
            << fault.alert << (fire ? " does not fire" : " still fires");
        in_order.push_back(times[fault.alert]);
    }
    EXPECT_TRUE(all) << prometheus_->query("ALERTS").dump(1) << prometheus_->err();
    return in_order;
}

std::set<std::string> AlertDrill::watch(Seconds time) const {
    std::set<std::string> fired;
    const Stopwatch since;
    while (since.seconds() < time.value) {
        fired.merge(alertmanager_->names());
        sleep(Seconds{0.5});
    }
    return fired;
}

}  // namespace rm::e2e
