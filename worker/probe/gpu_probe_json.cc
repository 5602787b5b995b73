#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"
#include "worker/probe/gpu_probe.h"

namespace rm {
namespace {

using nlohmann::json;

Result<ProbedGpu> gpu_from(const json& value) {
    ProbedGpu gpu;
    JsonObject members(value, "a gpu");
    members.require("index", gpu.index).require("uuid", gpu.uuid).require("bridge", gpu.bridge);
    RM_RETURN_IF_ERROR(members.finish());
    return gpu;
}

Result<InsideSample> sample_from(const json& value) {
    InsideSample sample;
    JsonObject members = JsonObject::of_file(value, "a sample");
    members.require("from", sample.from)
        .require("to", sample.to)
        .require("gbit_per_second", sample.rate.value)
        .require("latency_seconds", sample.latency.value)
        .require("bytes", sample.bytes.value)
        .require("seconds", sample.seconds.value);
    RM_RETURN_IF_ERROR(members.finish());
    return sample;
}

Result<BridgeSample> bridge_from(const json& value) {
    BridgeSample bridge;
    JsonObject members = JsonObject::of_file(value, "a bridge");
    members.require("name", bridge.name)
        .require("devices", bridge.devices)
        .require("up_gbit_per_second", bridge.up.value)
        .require("down_gbit_per_second", bridge.down.value);
    RM_RETURN_IF_ERROR(members.finish());
    return bridge;
}

}  // namespace

std::string to_json(const GpuProbeRequest& request) {
    json gpus = json::array();
    for (const ProbedGpu& gpu : request.gpus)
        gpus.push_back({{"index", gpu.index}, {"uuid", gpu.uuid}, {"bridge", gpu.bridge}});
    return json{{"library", to_string(request.library)},
                {"gpus", gpus},
                {"path", request.path},
                {"size_bytes", request.size.value},
                {"each_seconds", request.each.value}}
        .dump();
}

Result<GpuProbeRequest> parse_gpu_probe_request(std::string_view text) {
    RM_TRY(const json value, parse_json(text));
    GpuProbeRequest request;
    std::string library;
    JsonObject members(value, "request");
    members.require("library", library)
        .require("path", request.path)
        .require("size_bytes", request.size.value)
        .require("each_seconds", request.each.value);
    const json& gpus = members.require("gpus").list("gpus");
    RM_RETURN_IF_ERROR(members.finish());
    RM_TRY(request.library, parse_word<DeviceLibrary>(library));
    for (const json& gpu : gpus) {
        RM_TRY(request.gpus.emplace_back(), gpu_from(gpu));
    }
    return request;
}

std::string to_json(const InsideFindings& findings) {
    json samples = json::array(), bridges = json::array();
    for (const InsideSample& sample : findings.samples) {
        samples.push_back({{"from", sample.from},
                           {"to", sample.to},
                           {"gbit_per_second", sample.rate.value},
                           {"latency_seconds", sample.latency.value},
                           {"bytes", sample.bytes.value},
                           {"seconds", sample.seconds.value}});
    }
    for (const BridgeSample& bridge : findings.bridges) {
        bridges.push_back({{"name", bridge.name},
                           {"devices", bridge.devices},
                           {"up_gbit_per_second", bridge.up.value},
                           {"down_gbit_per_second", bridge.down.value}});
    }
    return json{{"samples", samples}, {"bridges", bridges}}.dump();
}

Result<InsideFindings> parse_inside_findings(std::string_view text) {
    RM_TRY(const json value, parse_json(text));
    InsideFindings findings;
    JsonObject members = JsonObject::of_file(value, "findings");
    const json& samples = members.require("samples").list("samples");
    const json& bridges = members.require("bridges").list("bridges");
    RM_RETURN_IF_ERROR(members.finish());
    for (const json& sample : samples) {
        RM_TRY(findings.samples.emplace_back(), sample_from(sample));
    }
    for (const json& bridge : bridges) {
        RM_TRY(findings.bridges.emplace_back(), bridge_from(bridge));
    }
    return findings;
}

}  // namespace rm
