#include "cli/doctor/installed.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/shell.h"
#include "cli/up/daemon.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorker = "ringmaster-worker";
constexpr const char* kRanks = "ringmaster-ranks";
constexpr const char* kUnits[] = {"ringmaster-controller", kWorker, kRanks};
constexpr const char* kUnitFolders[] = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
                                        "/usr/lib/systemd/system", "/lib/systemd/system"};
constexpr const char* kEnabled = "/etc/systemd/system/multi-user.target.wants";

// Also a link that leads nowhere: `root` stands before its target.
bool exists(const std::string& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0;
}

bool is_installed(const std::string& root, const std::string& unit) {
    return std::any_of(std::begin(kUnitFolders), std::end(kUnitFolders), [&](const char* folder) {
        return exists(format("{}{}/{}.service", root, folder, unit));
    });
}

// The program's first words about the file.
std::string fault_of(const std::string& path, const std::string& program) {
    if (::access(path.c_str(), R_OK) != 0) return "this user cannot read it; run doctor as root";
    const auto beside = program_beside_this(program);
    if (!beside) return "";  // check_programs() says that
    const auto end = run_to_end({*beside, "--config", path, "--print-config"});
    if (!end) return end.error().message;
    if (end->status == 0) return "";
    const std::string line = end->output.substr(0, end->output.find('\n'));
    const std::string name = program + ": ";
    return line.starts_with(name) ? line.substr(name.size()) : line;
}

bool is_foreign(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 &&
           (facts.st_uid != 0 || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

Check check_units(const std::vector<UnitFacts>& units) {
    const auto has = [&](const char* name) {
        return std::any_of(units.begin(), units.end(),
                           [&](const UnitFacts& unit) { return unit.name == name; });
    };
    const auto text_of = [](const UnitFacts& unit) {
        return unit.name + (unit.enabled ? "" : " (not enabled)");
    };
    Check check{"units", Verdict::ok, join(units, ", ", text_of), ""};
    for (const UnitFacts& unit : units) {
        if (unit.enabled) continue;
        check.verdict = Verdict::warn;
        check.remedy = format("`systemctl enable --now {}` starts it with the machine", unit.name);
    }
    if (has(kWorker) && !has(kRanks)) {
        check.verdict = Verdict::warn;
        check.remedy = format(
            "install {}.service: without it, a shutdown kills ranks that have "
            "written no checkpoint",
            kRanks);
    }
    return check;
}

Check check_file(const ConfigFacts& file) {
    const std::string name = "configuration";
    if (!file.fault.empty()) {
        const bool placed = file.fault.starts_with(file.path);
        return {name, Verdict::fail, placed ? file.fault : format("{}: {}", file.path, file.fault),
                "its daemon does not start with it"};
    }
    if (file.foreign) {
        return {name, Verdict::warn, format("{}: others than root may change it", file.path),
                format("`chown root {0}; chmod go-w {0}`", file.path)};
    }
    return {name, Verdict::ok, format("{} is valid", file.path), ""};
}

}  // namespace

InstalledFacts installed_facts(const std::string& root) {
    InstalledFacts installed;
    for (const char* unit : kUnits) {
        if (!is_installed(root, unit)) continue;
        installed.units.push_back({unit, exists(format("{}{}/{}.service", root, kEnabled, unit))});
    }
    for (const char* daemon : {"controller", "worker"}) {
        const std::string path = format("{}/etc/ringmaster/{}.yaml", root, daemon);
        if (!exists(path)) continue;
        installed.files.push_back(
            {path, fault_of(path, format("ringmaster-{}", daemon)), is_foreign(path)});
    }
    return installed;
}

std::vector<Check> check_installed(const InstalledFacts& installed) {
    std::vector<Check> checks;
    if (!installed.units.empty()) checks.push_back(check_units(installed.units));
    for (const ConfigFacts& file : installed.files)
        checks.push_back(check_file(file));
    return checks;
}

}  // namespace rm
