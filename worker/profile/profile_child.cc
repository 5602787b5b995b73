#include "worker/profile/profile_child.h"

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <vector>

#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"
#include "engine/schedule/device_profile_json.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"
#include "worker/dir/files.h"
#include "worker/rank/surroundings.h"

namespace rm {
namespace {

constexpr int kRounds = 9;  // a median of so many is as good as one of more on a free GPU

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string today() {
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&time, &utc);
    return format("{}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

Result<std::unique_ptr<Kernels>> kernels_of(const ProfileRequest& request) {
    if (request.device.is_cpu())
        return make_cpu_kernels(
            {.num_threads = request.num_threads,
             .compute = request.compute == Precision::bf16 ? DType::bf16 : DType::f32});
    DeviceOptions options{.device = request.device.index};
    if (request.memory.value > 0) options.memory = request.memory;
    return load_device_kernels(*request.device.library, options);
}

Result<DeviceProfile> measure_one(const ProfileRequest& request) {
    RM_TRY(const auto kernels, kernels_of(request));
    return measure_profile(*kernels, {.budget = request.budget,
                                      .most_rounds = kRounds,
                                      .now = seconds_now,
                                      .transfer_now = seconds_now,
                                      .busy = {}});
}

// One slot, while the others do the same: they share memory and, often, cores.
Result<DeviceProfile> measure_at_once(const ProfileRequest& request) {
    std::vector<std::future<Result<DeviceProfile>>> others;
    for (int slot = 1; slot < request.num_slots; ++slot) {
        others.push_back(
            std::async(std::launch::async, [&request] { return measure_one(request); }));
    }
    return measure_one(request);
}

std::string driver_text(const ProfileRequest& request) {
    if (request.driver.empty()) return "no driver";
    return request.device.is_cpu() ? request.driver : "driver " + request.driver;
}

}  // namespace

std::string to_json(const ProfileRequest& request) {
    return nlohmann::json{{"device", to_string(request.device)},
                          {"uuid", request.uuid},
                          {"numa_node", request.numa_node},
                          {"memory_bytes", request.memory.value},
                          {"num_threads", request.num_threads},
                          {"num_slots", request.num_slots},
                          {"bf16", request.compute == Precision::bf16},
                          {"driver", request.driver},
                          {"path", request.path},
                          {"budget_seconds", request.budget.value}}
        .dump();
}

Result<ProfileRequest> parse_profile_request(std::string_view text) {
    RM_TRY(const nlohmann::json value, parse_json(text));
    ProfileRequest request;
    std::string device;
    bool bf16 = true;
    JsonObject members(value, "request");
    members.require("device", device)
        .require("uuid", request.uuid)
        .require("numa_node", request.numa_node)
        .require("memory_bytes", request.memory.value)
        .require("num_threads", request.num_threads)
        .require("num_slots", request.num_slots)
        .require("bf16", bf16)
        .require("driver", request.driver)
        .require("path", request.path)
        .require("budget_seconds", request.budget.value);
    RM_RETURN_IF_ERROR(members.finish());
    RM_TRY(request.device, parse_rank_device(device));
    request.compute = bf16 ? Precision::bf16 : Precision::fp32;
    return request;
}

Status measure_requested(const ProfileRequest& request) {
    RankConfig place;
    place.device_uuid = request.uuid;
    place.numa_node = request.numa_node;
    enter_surroundings(place);
    RM_TRY(DeviceProfile profile, measure_at_once(request));
    profile.provenance = format("measured: ringmaster-worker, {}, {}, {}", profile.name,
                                driver_text(request), today());
    return replace_text_file(request.path, to_json(profile));
}

int run_profile_child(std::string_view request) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Result<ProfileRequest> parsed = parse_profile_request(request);
    const Status measured = parsed ? measure_requested(*parsed) : Status(parsed.error());
    if (!measured) std::fprintf(stderr, "%s\n", measured.error().message.c_str());
    return measured ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace rm
