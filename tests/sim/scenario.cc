#include "tests/sim/scenario.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

#include "tests/sim/faults.h"

namespace rm::sim {
namespace {

namespace fs = std::filesystem;

Status take_faults(const YAML::Node& node, Scenario& scenario) {
    const std::vector<std::string> known = fault_names();
    for (const auto& entry : node) {
        const auto name = entry.first.as<std::string>();
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return invalid_argument("there is no fault '{}'", name);
        }
        scenario.faults[name] = entry.second.as<double>();
        if (!(scenario.faults[name] > 0)) {
            return invalid_argument("faults.{} is {}, not a mean time", name,
                                    scenario.faults[name]);
        }
    }
    return {};
}

Status take_entry(const std::string& key, const YAML::Node& value, Scenario& scenario) {
    const std::map<std::string, int Scenario::*> counts{{"nodes", &Scenario::nodes},
                                                        {"devices", &Scenario::devices},
                                                        {"jobs", &Scenario::jobs},
                                                        {"max_ranks", &Scenario::max_ranks},
                                                        {"shared", &Scenario::shared},
                                                        {"roots", &Scenario::roots},
                                                        {"old_workers", &Scenario::old_workers}};
    const std::map<std::string, double Scenario::*> numbers{
        {"seconds", &Scenario::seconds},
        {"exports", &Scenario::exports},
        {"duplicate", &Scenario::duplicate},
        {"lost_reply", &Scenario::lost_reply},
        {"slow_commit", &Scenario::slow_commit}};
    if (const auto count = counts.find(key); count != counts.end()) {
        scenario.*count->second = value.as<int>();
    } else if (const auto number = numbers.find(key); number != numbers.end()) {
        scenario.*number->second = value.as<double>();
    } else if (key == "faults") {
        return take_faults(value, scenario);
    } else {
        return invalid_argument("there is no '{}' in a scenario", key);
    }
    return {};
}

Result<Scenario> parse(const std::string& path) {
    Scenario scenario;
    scenario.name = fs::path(path).stem().string();
    for (const auto& entry : YAML::LoadFile(path)) {
        RM_RETURN_IF_ERROR(take_entry(entry.first.as<std::string>(), entry.second, scenario));
    }
    return scenario;
}

}  // namespace

Result<Scenario> load_scenario(const std::string& path) {
    try {
        Result<Scenario> scenario = parse(path);
        if (!scenario) return invalid_argument("{}: {}", path, scenario.error().message);
        return scenario;
    } catch (const YAML::Exception& error) {
        return invalid_argument("{}: {}", path, error.what());
    }
}

Result<std::vector<Scenario>> load_scenarios(const std::string& directory) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Scenario> scenarios;
    for (const std::string& path : paths) {
        RM_TRY(Scenario scenario, load_scenario(path));
        scenarios.push_back(std::move(scenario));
    }
    return scenarios;
}

}  // namespace rm::sim
