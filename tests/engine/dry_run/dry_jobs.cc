#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {

ModelConfig little_model(std::int64_t num_layers) {
    return {.vocabulary = 8192,
            .hidden = 512,
            .num_layers = num_layers,
            .num_query_heads = 8,
            .num_kv_heads = 4,
            .head_dim = 64,
            .feed_forward = 1536};
}

DryJob little_job(std::int64_t num_layers, const Mesh& mesh, int zero) {
    DryJob job;
    job.spec.model = little_model(num_layers);
    job.spec.mesh = mesh;
    job.spec.zero = zero;
    job.shape.context = 65536;
    job.shape.rope = job.spec.model.rope;
    job.shape.memory.tile_tokens = 512;
    job.shape.memory.chunk_tokens = 1024;
    return job;
}

DryJob large_job(const Mesh& mesh) {
    DryJob job;
    job.spec.model = find_preset("llama3-8b").value();
    job.spec.mesh = mesh;
    job.spec.zero = 3;
    job.shape.context = std::int64_t{1} << 20;
    job.shape.rope = job.spec.model.rope;
    job.shape.memory.tile_tokens = 8192;
    job.shape.memory.chunk_tokens = 8192;
    return job;
}

void PrintTo(const PolicyCase& c, std::ostream* out) {
    *out << c.name;
}

DryJob job_of(const PolicyCase& c, std::int64_t num_layers, Kernels* host) {
    DryJob job = little_job(num_layers, c.mesh, c.zero);
    job.shape.memory.kept = c.kept;
    job.shape.memory.working = c.working;
    job.shape.memory.keep = c.keep;
    job.shape.memory.alpha = c.alpha;
    job.shape.memory.reuse = c.reuse;
    job.shape.memory.keep_precision = c.precision;
    if (c.host_state) job.spec.host = host;
    return job;
}

Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner) {
    return Mesh::make(data, ring, ulysses, tensor, inner).value();
}

DryRunOptions on_l40s(DryRunMode mode) {
    static const DeviceProfile profile = published_profiles().front();
    return {.profile = &profile, .links = uniform_links({Seconds{10e-6}, 12.5e9}), .mode = mode};
}

}  // namespace rm::test
