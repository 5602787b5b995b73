#include "planner/mesh.h"

namespace rm {

Result<std::optional<Mesh>> mesh_for(const JobSpec& spec, int num_free) {
    const std::optional<int> wanted = spec.num_ranks();
    if (wanted && *wanted > num_free) return std::optional<Mesh>();
    if (spec.parallel) return spec.parallel;
    if (wanted) {
        RM_TRY(const Mesh mesh, auto_mesh(spec, *wanted));
        return std::optional<Mesh>(mesh);
    }
    std::optional<Error> last;
    for (int n = num_free; n > 0; --n) {
        const auto mesh = auto_mesh(spec, n);
        if (mesh) return std::optional<Mesh>(*mesh);
        last = mesh.error();
    }
    if (last) return *last;
    return std::optional<Mesh>();
}

Result<Mesh> auto_mesh(const JobSpec& spec, int num_devices) {
    std::optional<Error> first;
    for (int ring = num_devices; ring > 0; --ring) {
        if (num_devices % ring != 0) continue;
        RM_TRY(const Mesh mesh, Mesh::make(num_devices / ring, ring, 1, 1));
        JobSpec meshed = spec;
        meshed.parallel = mesh;
        const Status valid = validate(meshed);
        if (valid) return mesh;
        if (!first) first = valid.error();
    }
    RM_CHECK(first.has_value(), "a mesh of {} devices was asked for", num_devices);
    return invalid_argument("no mesh of {} devices fits this job; as one ring: {}", num_devices,
                            first->message);
}

}  // namespace rm
