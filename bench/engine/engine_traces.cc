#include "bench/engine/engine_traces.h"

#include <utility>

namespace rm::bench {
namespace {

ModelConfig test_model() {
    return {.vocabulary = 61,
            .hidden = 32,
            .num_layers = 4,
            .num_query_heads = 4,
            .num_kv_heads = 2,
            .head_dim = 8,
            .feed_forward = 48};
}

ModelConfig one_billion() {
    return {.vocabulary = 128256,
            .hidden = 2048,
            .num_layers = 16,
            .num_query_heads = 32,
            .num_kv_heads = 8,
            .head_dim = 64,
            .feed_forward = 8192};
}

enum class Way { device, host, windows };

struct Size {
    std::string name;
    ModelConfig model;
    std::int64_t context;
    std::int64_t tile;
    std::int64_t chunk;
    DType compute = DType::bf16;
};

MemoryPolicy policy(Way way, const Size& size) {
    MemoryPolicy policy;
    policy.tile_tokens = size.tile;
    policy.chunk_tokens = size.chunk;
    if (way == Way::device) return policy;
    policy.alpha = 0.3;
    policy.kept = KeptPlace::host;
    policy.working = way == Way::windows ? WorkingSet::windows : WorkingSet::whole;
    return policy;
}

EngineCase make_case(const Size& size, const std::string& name, const Mesh& mesh, Way way) {
    EngineCase c{size.name + "_" + name, {}, {}};
    c.spec.model = size.model;
    c.spec.mesh = mesh;
    c.compute = size.compute;
    c.shape = {size.context, policy(way, size), size.model.rope};
    return c;
}

EngineCase attention_again(EngineCase c) {
    c.name += "_again";
    c.shape.memory.keep = Keep::input;
    return c;
}

}  // namespace

std::vector<EngineCase> engine_cases() {
    const Size sizes[] = {{"test_short", test_model(), 512, 64, 128, DType::f32},
                          {"test", test_model(), 4096, 64, 512, DType::f32},
                          {"1b", one_billion(), 131'072, 512, 4096},
                          {"8b", find_preset("llama3-8b").value(), 131'072, 512, 4096},
                          {"70b", find_preset("llama3-70b").value(), 131'072, 512, 4096}};
    std::vector<EngineCase> cases;
    for (const Size& size : sizes) {
        const auto add = [&](const std::string& name, const Mesh& mesh, Way way) {
            cases.push_back(make_case(size, name, mesh, way));
        };
        add("device", Mesh(), Way::device);
        add("host", Mesh(), Way::host);
        add("windows", Mesh(), Way::windows);
        cases.push_back(attention_again(cases[cases.size() - 2]));
        cases.push_back(attention_again(cases[cases.size() - 2]));
        add("ring", Mesh::make(1, 4, 1, 1).value(), Way::device);
        add("ring_host", Mesh::make(1, 4, 1, 1).value(), Way::host);
        add("ring_ulysses_host", Mesh::make(1, 2, 2, 1).value(), Way::host);
        add("tensor", Mesh::make(1, 1, 1, 2).value(), Way::device);
        add("tensor_host", Mesh::make(1, 2, 1, 2).value(), Way::host);
    }
    return cases;
}

std::vector<EngineTrace> engine_traces(const EngineCase& c) {
    Result<StageArenas> arenas = record_arenas(c.spec, c.shape, {.types = {.compute = c.compute}});
    RM_CHECK(arenas.ok(), "{}: {}", c.name, arenas.error().message);
    std::vector<EngineTrace> traces;
    for (const PassKind kind : {PassKind::train, PassKind::loss}) {
        const std::string name = c.name + (kind == PassKind::train ? ".train" : ".loss");
        traces.push_back({name + ".device", std::move(arenas->device.of(kind))});
        PassRequests& host = arenas->host.of(kind);
        if (!host.requests.empty()) traces.push_back({name + ".host", std::move(host)});
    }
    return traces;
}

}  // namespace rm::bench
