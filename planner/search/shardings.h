#pragma once

#include <vector>

#include "engine/dry_run/dry_job.h"

namespace rm {

// Every way in which `num_ranks` ranks can share the job, in a fixed order: meshes that suit the
// model and every stage, single rings and, where a ring spans nodes of `node_size` devices, double
// ones whose inner rings stay in a node; each with the ZeRO stages from the job's on that are not
// worse than another one in all respects. The job's mesh, if it names one, is the only mesh.
// invalid_argument: there is none, as for the job as one ring; or the job's mesh has other ranks.
Result<std::vector<Sharding>> shardings_of(const JobSpec& spec, const ModelConfig& model,
                                           int num_ranks, int node_size);

// The same on these meshes alone, each of which must suit.
Result<std::vector<Sharding>> shardings_on(const JobSpec& spec, const ModelConfig& model,
                                           int num_ranks, const std::vector<Mesh>& meshes);

// "ring 8 x tensor 4, ZeRO 3".
std::string to_string(const Sharding& sharding);

}  // namespace rm
