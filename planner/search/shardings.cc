#include "planner/search/shardings.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

std::vector<int> divisors_of(int number) {
    std::vector<int> divisors;
    for (int i = 1; i <= number; ++i) {
        if (number % i == 0) divisors.push_back(i);
    }
    return divisors;
}

// Whether the job can train on the mesh: its sizes, heads, contexts and batches.
Status check_sharding(const JobSpec& spec, const ModelConfig& model, const Mesh& mesh) {
    RM_RETURN_IF_ERROR(check_mesh(mesh, model.dims()));
    RM_RETURN_IF_ERROR(check_fp8(spec, model, mesh.size(Axis::tensor)));
    JobSpec meshed = spec;
    meshed.parallel = mesh;
    meshed.resources.devices = 0;
    meshed.resources.placement.clear();
    return validate(meshed);
}

// Inner rings of a single ring and of one whose hops inside a node are told from those between.
std::vector<int> inner_rings(int ring, int rest, int node_size) {
    std::vector<int> inner = {0};
    const int in_node = rest == 0 ? 0 : node_size / rest;
    if (in_node > 1 && in_node < ring && ring % in_node == 0) inner.push_back(in_node);
    return inner;
}

std::vector<Mesh> meshes_of(int num_ranks, int node_size) {
    std::vector<Mesh> meshes;
    for (const int tensor : divisors_of(num_ranks)) {
        for (const int ulysses : divisors_of(num_ranks / tensor)) {
            for (const int ring : divisors_of(num_ranks / tensor / ulysses)) {
                const int data = num_ranks / tensor / ulysses / ring;
                for (const int inner : inner_rings(ring, tensor * ulysses, node_size))
                    meshes.push_back(Mesh::make(data, ring, ulysses, tensor, inner).value());
            }
        }
    }
    return meshes;
}

// Stage 1 sends the bytes of stage 0 and keeps less; with one pass a step, stage 2 sends those of
// stage 1 and keeps less.
std::vector<int> stages_of(const JobSpec& spec, const Mesh& mesh) {
    const int sharing = mesh.num_ranks() / mesh.size(Axis::tensor);
    if (sharing == 1) return {spec.zero};
    const bool one_pass =
        std::all_of(spec.stages.begin(), spec.stages.end(), [&](const StageSpec& stage) {
            return stage.sequences_per_step() <= mesh.size(Axis::data);
        });
    std::vector<int> stages;
    for (int zero = std::max(spec.zero, one_pass ? 2 : 1); zero <= 3; ++zero)
        stages.push_back(zero);
    return stages;
}

void add_stages(const JobSpec& spec, const Mesh& mesh, std::vector<Sharding>& shardings) {
    for (const int zero : stages_of(spec, mesh))
        shardings.push_back({mesh, zero});
}

}  // namespace

Result<std::vector<Sharding>> shardings_of(const JobSpec& spec, const ModelConfig& model,
                                           int num_ranks, int node_size) {
    if (spec.parallel && spec.parallel->num_ranks() != num_ranks) {
        return invalid_argument("parallel: {} has {} ranks, and the plan is of {} devices",
                                to_string(*spec.parallel), spec.parallel->num_ranks(), num_ranks);
    }
    if (spec.parallel) return std::vector<Sharding>{{*spec.parallel, spec.zero}};
    std::vector<Sharding> shardings;
    for (const Mesh& mesh : meshes_of(num_ranks, node_size)) {
        if (check_sharding(spec, model, mesh)) add_stages(spec, mesh, shardings);
    }
    if (!shardings.empty()) return shardings;
    const Status as_ring = check_sharding(spec, model, Mesh::make(1, num_ranks, 1, 1).value());
    RM_CHECK(!as_ring, "the job can train as one ring of {}", num_ranks);
    return invalid_argument("no mesh of {} devices fits this job; as one ring: {}", num_ranks,
                            as_ring.error().message);
}

Result<std::vector<Sharding>> shardings_on(const JobSpec& spec, const ModelConfig& model,
                                           int num_ranks, const std::vector<Mesh>& meshes) {
    std::vector<Sharding> shardings;
    for (const Mesh& mesh : meshes) {
        if (mesh.num_ranks() != num_ranks) {
            return invalid_argument("{} has {} ranks, and the plan is of {} devices",
                                    to_string(mesh), mesh.num_ranks(), num_ranks);
        }
        const Status suits = check_sharding(spec, model, mesh);
        if (!suits) return under_key(suits.error(), to_string(mesh));
        add_stages(spec, mesh, shardings);
    }
    return shardings;
}

std::string to_string(const Sharding& sharding) {
    return format("{}, ZeRO {}", to_string(sharding.mesh), sharding.zero);
}

}  // namespace rm
