#pragma once

#include "planner/search/published_fleet.h"
#include "planner/search/search.h"

namespace rm::test {

// One stage in bf16, `sequences` of them a step.
inline JobSpec long_job(std::int64_t context, std::int64_t sequences = 1) {
    JobSpec spec;
    spec.name = "planned";
    spec.model.preset = "llama3-8b";
    spec.data.sources = {{"/data", 0}};
    spec.precision = "bf16";
    spec.stages = {
        {.context = context, .batch = sequences * context, .tokens = 100 * sequences * context}};
    return spec;
}

inline Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner = 0) {
    return Mesh::make(data, ring, ulysses, tensor, inner).value();
}

}  // namespace rm::test
