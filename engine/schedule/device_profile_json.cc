#include "engine/schedule/device_profile_json.h"

#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace rm {
namespace {

using nlohmann::json;

// The members of one object; each must be there, and no other. Keeps the first error.
class Members {
public:
    Members(const json& object, std::string name) : object_(object), name_(std::move(name)) {
        if (!object.is_object()) status_ = invalid_argument("{} is not an object", name_);
    }
    Members& read(const char* key, std::string& out) {
        if (const json* value = find(key, &json::is_string, "text"))
            out = value->get<std::string>();
        return *this;
    }
    Members& read(const char* key, double& out) {
        if (const json* value = find(key, &json::is_number, "a number")) out = value->get<double>();
        return *this;
    }
    template <typename Integer>
    Members& read_integer(const char* key, Integer& out) {
        if (const json* value = find(key, &json::is_number_integer, "a whole number"))
            out = value->get<Integer>();
        return *this;
    }
    const json* array(const char* key) { return find(key, &json::is_array, "an array"); }

    Status finish() {
        if (!status_.ok()) return status_;
        for (const auto& [key, value] : object_.items()) {
            if (!asked_.contains(key)) return invalid_argument("{}: unknown key '{}'", name_, key);
        }
        return {};
    }

private:
    const json* find(const char* key, bool (json::*is_right)() const noexcept,
                     std::string_view wanted) {
        asked_.insert(key);
        if (!status_.ok()) return nullptr;
        const auto found = object_.find(key);
        if (found == object_.end()) {
            status_ = invalid_argument("{}: '{}' is missing", name_, key);
        } else if (!((*found).*is_right)()) {
            status_ = invalid_argument("{}: '{}' is not {}", name_, key, wanted);
        } else {
            return &*found;
        }
        return nullptr;
    }

    const json& object_;
    std::string name_;
    std::set<std::string> asked_;
    Status status_;
};

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
    Members members(value, "an op");
    members.read("op", speed.op).read("overhead_sec", speed.overhead.value);
    members.read_integer("head_dim", speed.head_dim);
    members.read_integer("workspace_bytes", speed.workspace.value);
    const json* points = members.array("points");
    RM_RETURN_IF_ERROR(members.finish());
    for (const json& point : *points) {
        const bool is_pair =
            point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number();
        if (!is_pair) return invalid_argument("{}: a point is [size, speed]", speed.op);
        speed.points.push_back({point[0].get<double>(), point[1].get<double>()});
    }
    return speed;
}

Result<DType> dtype_from(std::string_view text) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
        if (text == to_string(dtype)) return dtype;
    }
    return invalid_argument("compute '{}'; f64, f32 or bf16", text);
}

Error in_file(const std::string& path, const Error& error) {
    return make_error(error.code, "{}: {}", path, error.message);
}

}  // namespace

std::string to_json(const DeviceProfile& profile) {
    json head{{"name", profile.name},
              {"provenance", profile.provenance},
              {"compute", to_string(profile.compute)},
              {"peak_flops", profile.peak_flops},
              {"held_bytes", profile.held.value},
              {"prepared_copies", profile.prepared_copies}};
    if (profile.memory.value > 0) head["memory_bytes"] = profile.memory.value;
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
    const json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) return invalid_argument("is not JSON ({} bytes)", text.size());
    DeviceProfile profile;
    std::string compute;
    Members members(value, "a device profile");
    members.read("name", profile.name).read("provenance", profile.provenance);
    members.read("compute", compute).read("peak_flops", profile.peak_flops);
    members.read_integer("held_bytes", profile.held.value);
    members.read_integer("prepared_copies", profile.prepared_copies);
    if (value.contains("memory_bytes")) members.read_integer("memory_bytes", profile.memory.value);
    const json* ops = members.array("ops");
    RM_RETURN_IF_ERROR(members.finish());
    RM_TRY(profile.compute, dtype_from(compute));
    for (const json& op : *ops) {
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
    if (!profile) return in_file(path, profile.error());
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
