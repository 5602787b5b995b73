#include "engine/schedule/device_profile_json.h"

#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

using nlohmann::json;

json to_json(const OpSpeed& speed) {
    json points = json::array();
    for (const SpeedPoint& point : speed.points)
        points.push_back({point.size, point.per_sec});
    return {{"op", speed.op},
            {"head_dim", speed.head_dim},
            {"overhead_sec", speed.overhead.value},
            {"workspace_bytes", speed.workspace.value},
            {"points", points}};
}

Result<OpSpeed> speed_from_json(const json& value) {
    OpSpeed speed;
    JsonObject members = JsonObject::of_file(value, "an op");
    const json& points = members.require("op", speed.op)
                             .require("overhead_sec", speed.overhead.value)
                             .require("head_dim", speed.head_dim)
                             .require("workspace_bytes", speed.workspace.value)
                             .require("points")
                             .list("points");
    RM_RETURN_IF_ERROR(members.finish());
    for (const json& point : points) {
        const bool is_pair =
            point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number();
        if (!is_pair) return invalid_argument("{}: a point is [size, speed]", speed.op);
        speed.points.push_back({point[0].get<double>(), point[1].get<double>()});
    }
    return speed;
}

json to_json(const SharedTransfers& transfers) {
    const auto pair = [](const TransferRates& rates) {
        return json::array({rates.upload, rates.download});
    };
    return {{"both_ways", pair(transfers.both_ways)},
            {"busy_devices", transfers.busy_devices},
            {"busy", pair(transfers.busy)},
            {"busy_both_ways", pair(transfers.busy_both_ways)}};
}

Result<SharedTransfers> transfers_from_json(const json& value) {
    SharedTransfers transfers;
    std::vector<double> both_ways, busy, busy_both_ways;
    JsonObject members = JsonObject::of_file(value, "transfers");
    members.require("both_ways", both_ways)
        .require("busy_devices", transfers.busy_devices)
        .require("busy", busy)
        .require("busy_both_ways", busy_both_ways);
    RM_RETURN_IF_ERROR(members.finish());
    if (both_ways.size() != 2 || busy.size() != 2 || busy_both_ways.size() != 2)
        return invalid_argument("transfers: rates are [upload, download]");
    transfers.both_ways = {both_ways[0], both_ways[1]};
    transfers.busy = {busy[0], busy[1]};
    transfers.busy_both_ways = {busy_both_ways[0], busy_both_ways[1]};
    return transfers;
}

Result<DType> dtype_from(std::string_view text) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
        if (text == to_string(dtype)) return dtype;
    }
    return invalid_argument("compute '{}'; f64, f32 or bf16", text);
}

}  // namespace

std::string to_json(const DeviceProfile& profile) {
    json head{{"name", profile.name},
              {"provenance", profile.provenance},
              {"compute", to_string(profile.compute)},
              {"peak_flops", profile.peak_flops},
              {"held_bytes", profile.held.value},
              {"prepared_copies", profile.prepared_copies}};
    if (profile.fp8_peak_flops > 0) head["fp8_peak_flops"] = profile.fp8_peak_flops;
    if (profile.memory.value > 0) head["memory_bytes"] = profile.memory.value;
    if (profile.transfers != SharedTransfers{}) head["transfers"] = to_json(profile.transfers);
    std::string text = "{\n";
    for (const auto& [key, value] : head.items())
        text += format("  {}: {},\n", json(key).dump(), value.dump());
    text += "  \"ops\": [\n";
    for (std::size_t i = 0; i < profile.ops.size(); ++i) {
        const bool last = i + 1 == profile.ops.size();
        text += format("    {}{}\n", to_json(profile.ops[i]).dump(), last ? "" : ",");
    }
    return text + "  ]\n}\n";
}

Result<DeviceProfile> device_profile_from_json(std::string_view text) {
    RM_TRY(const json value, parse_json(text));
    DeviceProfile profile;
    std::string compute;
    JsonObject members = JsonObject::of_file(value, "a device profile");
    const json& ops = members.require("name", profile.name)
                          .require("provenance", profile.provenance)
                          .require("compute", compute)
                          .require("peak_flops", profile.peak_flops)
                          .require("held_bytes", profile.held.value)
                          .require("prepared_copies", profile.prepared_copies)
                          .read("fp8_peak_flops", profile.fp8_peak_flops)
                          .read("memory_bytes", profile.memory.value)
                          .require("ops")
                          .list("ops");
    const json* const transfers = members.member("transfers");
    RM_RETURN_IF_ERROR(members.finish());
    RM_TRY(profile.compute, dtype_from(compute));
    if (transfers != nullptr) {
        RM_TRY(profile.transfers, transfers_from_json(*transfers));
    }
    for (const json& op : ops) {
        RM_TRY(OpSpeed speed, speed_from_json(op));
        profile.ops.push_back(std::move(speed));
    }
    RM_RETURN_IF_ERROR(check_profile(profile));
    return profile;
}

Result<DeviceProfile> read_device_profile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return make_error(ErrorCode::not_found, "cannot read {}", path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    auto profile = device_profile_from_json(text);
    if (!profile) return within(path, profile.error());
    return profile;
}

Status write_device_profile(const std::string& path, const DeviceProfile& profile) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << to_json(profile);
    file.flush();
    if (!file) return make_error(ErrorCode::unavailable, "cannot write {}", path);
    return {};
}

}  // namespace rm
