#include "worker/profile/profile_child.h"

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"
#include "engine/schedule/device_profile_json.h"
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

DeviceOptions options_of(const ProfileRequest& request) {
    DeviceOptions options{.device = request.index};
    if (request.memory.value > 0) options.memory = request.memory;
    return options;
}

}  // namespace

std::string to_json(const ProfileRequest& request) {
    return nlohmann::json{{"library", to_string(request.library)},
                          {"index", request.index},
                          {"uuid", request.uuid},
                          {"numa_node", request.numa_node},
                          {"memory_bytes", request.memory.value},
                          {"driver", request.driver},
                          {"path", request.path},
                          {"budget_seconds", request.budget.value}}
        .dump();
}

Result<ProfileRequest> parse_profile_request(std::string_view text) {
    RM_TRY(const nlohmann::json value, parse_json(text));
    ProfileRequest request;
    std::string library;
    JsonObject members(value, "request");
    members.require("library", library)
        .require("index", request.index)
        .require("uuid", request.uuid)
        .require("numa_node", request.numa_node)
        .require("memory_bytes", request.memory.value)
        .require("driver", request.driver)
        .require("path", request.path)
        .require("budget_seconds", request.budget.value);
    RM_RETURN_IF_ERROR(members.finish());
    RM_TRY(request.library, parse_word<DeviceLibrary>(library));
    return request;
}

Status measure_requested(const ProfileRequest& request) {
    RankConfig place;
    place.device_uuid = request.uuid;
    place.numa_node = request.numa_node;
    enter_surroundings(place);
    RM_TRY(const auto kernels, load_device_kernels(request.library, options_of(request)));
    DeviceProfile profile = measure_profile(*kernels, {.budget = request.budget,
                                                       .most_rounds = kRounds,
                                                       .now = seconds_now,
                                                       .transfer_now = seconds_now,
                                                       .busy = {}});
    profile.provenance =
        format("measured: ringmaster-worker, {}, {}, {}", profile.name,
               request.driver.empty() ? "no driver" : "driver " + request.driver, today());
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
