#include "worker/profile/kept_profiles.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "engine/schedule/device_profile_json.h"
#include "kernels/device_library.h"
#include "service/log.h"
#include "worker/dir/child.h"
#include "worker/dir/files.h"
#include "worker/profile/profile_child.h"

namespace rm {
namespace {

using Devices = std::map<std::string, DeviceInfo>;  // one of each kind

bool is_emulated(const DeviceInfo& device) {
    return device.kind == to_string(DeviceLibrary::emu);
}
bool is_gpu(const DeviceInfo& device) {
    return device.kind != "cpu" && !is_emulated(device);
}

Devices one_of_each_kind(const std::vector<DeviceInfo>& devices) {
    Devices found;
    for (const DeviceInfo& device : devices) {
        const auto [known, is_new] = found.emplace(device.kind, device);
        if (!is_new && !known->second.unfit.empty()) known->second = device;
    }
    return found;
}

// A part of a file's name.
std::string plain(std::string text) {
    for (char& c : text) {
        const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
        if (!fits) c = '_';
    }
    return text.empty() ? "none" : text;
}

Result<KeptFile> read_kept(const std::string& kind, const ProfileTerms& terms) {
    const std::string path = kept_profile_path(terms, kind);
    RM_TRY(const DeviceProfile profile, read_device_profile(path));
    return KeptFile{{.kind = kind,
                     .driver = terms.driver,
                     .build = terms.build,
                     .bf16_flops = profile.peak_flops,
                     .text = to_json(profile)},
                    path};
}

bool is_wanted(const DeviceInfo& device, const ProfileTerms& terms) {
    switch (terms.mode) {
        case ProfileMode::off:
            return false;
        case ProfileMode::now:
            return true;
        case ProfileMode::automatic:
            return is_gpu(device) && !read_kept(device.kind, terms);
    }
    return false;
}

// Why this device cannot be measured at this moment.
Status check_free(const DeviceInfo& device, const ProfileTerms& terms) {
    if (!terms.live_attempt.empty()) {
        return make_error(ErrorCode::failed_precondition, "a job runs here ({})",
                          terms.live_attempt);
    }
    if (device.unfit.empty()) return {};
    return make_error(ErrorCode::failed_precondition, "device {}: {}", device.index, device.unfit);
}

RankDevice rank_device_of(const DeviceInfo& device) {
    if (is_emulated(device)) return {DeviceLibrary::emu, device.index};
    if (is_gpu(device)) return {DeviceLibrary::cuda, 0};  // the only one to be seen
    return {};
}

ProfileRequest request_of(const DeviceInfo& device, const ProfileTerms& terms,
                          const std::string& path, Seconds budget) {
    return {.device = rank_device_of(device),
            .uuid = device.gpu.uuid,
            .numa_node = device.gpu.numa_node,
            .memory = is_emulated(device) ? device.memory : Bytes{},
            .num_threads = device.num_threads,
            .num_slots = device.kind == "cpu" ? terms.num_slots : 1,
            .compute = terms.compute,
            .driver = terms.driver,
            .path = path,
            .budget = budget};
}

Status measure(const DeviceInfo& device, const ProfileTerms& terms, double share) {
    RM_RETURN_IF_ERROR(check_free(device, terms));
    std::error_code failed;
    std::filesystem::create_directories(terms.dir, failed);
    if (failed) return system_error("cannot make", terms.dir, failed.value());
    const std::string path = kept_profile_path(terms, device.kind);
    ChildWork work{.argv = terms.command,
                   .log = path + ".log",
                   .limit = {terms.limit.value * share},
                   .why_stopped = terms.why_stopped};
    work.argv.push_back(to_json(request_of(device, terms, path, {terms.budget.value * share})));
    return run_child(work);
}

void log_measured(const DeviceInfo& device, const ProfileTerms& terms, const Status& measured) {
    if (!measured) {
        return log_event(LogLevel::warning, "profile_not_measured",
                         {{"kind", device.kind}, {"reason", measured.error().message}});
    }
    log_event(LogLevel::info, "profile_measured",
              {{"kind", device.kind},
               {"device", device.index},
               {"file", kept_profile_path(terms, device.kind)}});
}

}  // namespace

std::string kept_profile_path(const ProfileTerms& terms, const std::string& kind) {
    return format("{}/{}-{}-{}.json", terms.dir, plain(kind), plain(terms.driver),
                  plain(terms.build));
}

Result<std::map<std::string, KeptFile>> measured_profiles(const std::vector<DeviceInfo>& devices,
                                                          const ProfileTerms& terms) {
    const Devices kinds = one_of_each_kind(devices);
    if (terms.mode == ProfileMode::now && !terms.live_attempt.empty()) {
        return make_error(ErrorCode::failed_precondition,
                          "--profile now: a job runs here ({}); wait for its end, or leave the "
                          "option out",
                          terms.live_attempt);
    }
    std::map<std::string, KeptFile> files;
    for (const auto& [kind, device] : kinds) {
        const double share = 1 / static_cast<double>(kinds.size());
        if (is_wanted(device, terms)) log_measured(device, terms, measure(device, terms, share));
        auto kept = read_kept(kind, terms);
        if (kept) {
            files.emplace(kind, std::move(*kept));
        } else if (kept.error().code != ErrorCode::not_found) {
            log_event(LogLevel::warning, "profile_unreadable", {{"reason", kept.error().message}});
        }
    }
    return files;
}

}  // namespace rm
