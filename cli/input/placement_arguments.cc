#include "cli/input/placement_arguments.h"

#include <charconv>
#include <map>
#include <optional>

#include "topology/step_traffic.h"

namespace rm {
namespace {

struct Setting {
    std::string_view key;
    std::string_view value;
};

// "a=1,b=2"; a key may occur once.
Result<std::vector<Setting>> settings_of(std::string_view option, std::string_view text) {
    std::vector<Setting> settings;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            return invalid_argument("{}: '{}' is not KEY=VALUE", option, part);
        }
        for (const Setting& other : settings) {
            if (other.key == part.substr(0, equals)) {
                return invalid_argument("{}: {} is given twice", option, other.key);
            }
        }
        settings.push_back({part.substr(0, equals), part.substr(equals + 1)});
    }
    return settings;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// 67108864 or 64MiB.
Result<Bytes> bytes_of(std::string_view text) {
    if (const auto plain = whole_number(text)) return Bytes{*plain};
    return parse_bytes(text);
}

Result<CommPhase> phase_of(const Setting& setting) {
    CommPhase phase;
    bool known = false;
    for (const Axis axis : kAxes) {
        if (setting.key != to_string(axis)) continue;
        phase.axis = axis;
        known = true;
    }
    if (!known) {
        return invalid_argument("--bytes: '{}' is none of data, ring, ulysses, tensor",
                                setting.key);
    }
    if (phase.axis == Axis::ulysses) phase.pattern = Pattern::all_to_all;
    const std::size_t colon = std::min(setting.value.find(':'), setting.value.size());
    const auto bytes = bytes_of(setting.value.substr(0, colon));
    if (!bytes) return invalid_argument("--bytes: {}: {}", setting.key, bytes.error().message);
    phase.bytes = *bytes;
    if (colon < setting.value.size()) {
        const auto messages = whole_number(setting.value.substr(colon + 1));
        if (!messages || *messages < 1) {
            return invalid_argument("--bytes: {}: '{}' messages; it must be 1 or more", setting.key,
                                    setting.value.substr(colon + 1));
        }
        phase.messages = *messages;
    }
    return phase;
}

Result<StepTraffic> traffic_of_model(const TrafficOptions& options, const Mesh& mesh) {
    RM_TRY(const ModelConfig model, find_preset(options.model));
    RM_RETURN_IF_ERROR(check_mesh(mesh, model.dims()));
    StepShape shape{.zero = options.zero, .compute_bytes = options.precision == "fp32" ? 4 : 2};
    if (options.context.empty()) return invalid_argument("--model needs --context");
    RM_TRY(shape.context, parse_count(options.context, Suffix::binary));
    if (!options.batch.empty()) {
        RM_TRY(shape.batch, parse_count(options.batch, Suffix::binary));
    }
    if (shape.context < 1) {
        return invalid_argument("--context {}: it must be 1 or more", options.context);
    }
    return step_traffic(model, mesh, shape);
}

}  // namespace

Result<Mesh> parse_mesh_argument(std::string_view text) {
    std::map<std::string_view, int> sizes = {
        {"data", 1}, {"ring", 1}, {"ulysses", 1}, {"tensor", 1}, {"inner", 0}};
    RM_TRY(const std::vector<Setting> settings, settings_of("--mesh", text));
    if (settings.empty()) return invalid_argument("--mesh is missing: data=2,ring=4");
    for (const Setting& setting : settings) {
        const auto size = sizes.find(setting.key);
        if (size == sizes.end()) {
            return invalid_argument("--mesh: '{}' is none of data, ring, ulysses, tensor, inner",
                                    setting.key);
        }
        const auto value = whole_number(setting.value);
        if (!value || *value < 1 || *value > 65536) {
            return invalid_argument("--mesh: {} is '{}'; it must be 1 to 65536", setting.key,
                                    setting.value);
        }
        size->second = static_cast<int>(*value);
    }
    auto mesh =
        Mesh::make(sizes["data"], sizes["ring"], sizes["ulysses"], sizes["tensor"], sizes["inner"]);
    if (mesh) return mesh;
    return invalid_argument("--mesh {}: {}", text, mesh.error().message);
}

Result<StepTraffic> parse_bytes_argument(std::string_view text) {
    StepTraffic traffic;
    RM_TRY(const std::vector<Setting> settings, settings_of("--bytes", text));
    for (const Setting& setting : settings) {
        RM_TRY(const CommPhase phase, phase_of(setting));
        traffic.push_back(phase);
    }
    RM_RETURN_IF_ERROR(validate(traffic));
    return traffic;
}

Result<StepTraffic> traffic_of(const TrafficOptions& options, const Mesh& mesh) {
    if (options.bytes.empty() == options.model.empty()) {
        return invalid_argument(
            "give --bytes (what a rank sends in a step) or --model with --context, one of them");
    }
    if (!options.model.empty()) return traffic_of_model(options, mesh);
    if (mesh.outer_ring() > 1) {
        return invalid_argument(
            "--bytes describes one ring, but the mesh has {} inner rings; give --model with "
            "--context",
            mesh.outer_ring());
    }
    return parse_bytes_argument(options.bytes);
}

Result<std::vector<Endpoint>> parse_devices(const std::vector<std::string>& texts,
                                            const LinkGraph& graph) {
    std::map<std::string_view, int> nodes;
    for (int node = 0; node < graph.num_nodes(); ++node)
        nodes[graph.nodes[usize(node)].id.value] = node;
    std::vector<Endpoint> devices;
    for (const std::string& text : texts) {
        if (const auto whole = nodes.find(text); whole != nodes.end()) {
            for (int device = 0; device < graph.num_devices(whole->second); ++device)
                devices.push_back({whole->second, device});
            continue;
        }
        const std::size_t colon = std::min(text.rfind(':'), text.size());
        const auto node = nodes.find(std::string_view(text).substr(0, colon));
        const auto device =
            whole_number(std::string_view(text).substr(std::min(colon + 1, text.size())));
        if (node == nodes.end() || !device || *device < 0 ||
            *device >= graph.num_devices(node->second)) {
            return invalid_argument("'{}' is neither a node of the link file nor NODE:DEVICE",
                                    text);
        }
        devices.push_back({node->second, static_cast<int>(*device)});
    }
    return devices;
}

}  // namespace rm
