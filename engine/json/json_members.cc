#include "engine/json/json_members.h"

namespace rm {

using nlohmann::json;

namespace {

// Reads the members of a mesh.
class MeshMembers {
public:
    explicit MeshMembers(JsonObject& object) {
        for (const Axis axis : kAxes)
            object.read(to_string(axis), sizes_[usize(axis)]);
        object.read("inner_ring", inner_ring_);
    }
    // Errors name members of the object at `path`.
    Result<Mesh> make(std::string_view path) const {
        Result<Mesh> mesh = Mesh::make(sizes_[0], sizes_[1], sizes_[2], sizes_[3], inner_ring_);
        if (!mesh) return under_key(mesh.error(), path);
        return mesh;
    }

private:
    std::array<int, 4> sizes_ = {1, 1, 1, 1};
    int inner_ring_ = 0;
};

}  // namespace

json mesh_to_json(const Mesh& mesh) {
    json value;
    for (const Axis axis : kAxes)
        value[std::string(to_string(axis))] = mesh.size(axis);
    if (mesh.outer_ring() > 1) value["inner_ring"] = mesh.inner_ring();
    return value;
}

Result<Mesh> mesh_from_json(const json& value, const std::string& path) {
    JsonObject object(value, path);
    const MeshMembers mesh(object);
    RM_RETURN_IF_ERROR(object.finish());
    return mesh.make(path);
}

Status read_parallel(const json& value, const std::string& path, std::optional<Mesh>& mesh,
                     int& zero) {
    JsonObject object(value, path);
    object.read("zero", zero);
    const MeshMembers members(object);
    RM_RETURN_IF_ERROR(object.finish());
    if (value.size() == 1 && value.contains("zero")) return {};
    RM_TRY(mesh, members.make(path));
    return {};
}

json value_to_json(const std::vector<DataSource>& sources) {
    json value = json::array();
    for (const DataSource& source : sources)
        value.push_back(to_string(source));
    return value;
}

// One source or an array of them, each "path" or "path@proportion".
void read_value(JsonObject& object, std::string_view key, std::vector<DataSource>& sources) {
    const json* found = object.member(key);
    if (found == nullptr) return;
    for (const json& item : found->is_array() ? *found : json::array({*found})) {
        if (!item.is_string()) {
            object.keep(invalid_argument("{}: {}; texts such as \"path\" or \"path@0.5\"",
                                         object.path_of(key), item.dump()));
            return;
        }
        Result<DataSource> source = parse_data_source(item.get<std::string>());
        object.keep(source ? Status() : Status(source.error()));
        if (source) sources.push_back(*std::move(source));
    }
}

json value_to_json(const std::vector<DeviceId>& devices) {
    json value = json::array();
    for (const DeviceId& device : devices)
        value.push_back({{"node", device.node.value}, {"device", device.index}});
    return value;
}

// An array of {"node", "device"}, by rank.
void read_value(JsonObject& object, std::string_view key, std::vector<DeviceId>& devices) {
    const json* found = object.member(key);
    if (found == nullptr) return;
    if (!found->is_array()) {
        object.keep(
            invalid_argument("{}: {}; an array of objects such as {{\"node\": \"a\", "
                             "\"device\": 0}}",
                             object.path_of(key), found->dump()));
        return;
    }
    for (const json& item : *found) {
        JsonObject device(item, object.path_of(format("{}[{}]", key, devices.size())));
        DeviceId& id = devices.emplace_back();
        device.read("node", id.node.value).read("device", id.index);
        object.keep(device.finish());
    }
}

void read_value(JsonObject& object, std::string_view key, std::optional<Bytes>& size) {
    std::string text;
    if (object.read(key, text).member(key) == nullptr) return;
    const Result<Bytes> bytes = parse_bytes(text);
    if (bytes) {
        size = *bytes;
    } else {
        object.keep(invalid_argument("{}: {}", object.path_of(key), bytes.error().message));
    }
}

}  // namespace rm
