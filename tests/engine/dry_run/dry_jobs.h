#pragma once

#include <ostream>
#include <string>

#include "engine/dry_run/predict.h"

namespace rm::test {

// A rank of a job and the shape of its stage.
struct DryJob {
    RankSpec spec;
    StageShape shape;
};

ModelConfig little_model(std::int64_t num_layers);
// 64K tokens of the little model on this mesh, in tiles of 512 and chunks of 1,024 tokens.
DryJob little_job(std::int64_t num_layers, const Mesh& mesh, int zero);
// 1M tokens of an 8B model in tiles and chunks of 8,192 tokens.
DryJob large_job(const Mesh& mesh);

// A case of the little model: what it keeps, and where.
struct PolicyCase {
    std::string name;
    Mesh mesh;
    int zero = 0;
    KeptPlace kept = KeptPlace::device;
    WorkingSet working = WorkingSet::whole;
    Keep keep = Keep::input_and_attention;
    double alpha = 1;
    ArenaReuse reuse = ArenaReuse::on;
    bool host_state = false;
    std::int64_t micro_batches = 1;
    KeptPrecision precision = KeptPrecision::compute;
};
void PrintTo(const PolicyCase& c, std::ostream* out);
// `host`: where the case's state is, if it is there.
DryJob job_of(const PolicyCase& c, std::int64_t num_layers, Kernels* host = nullptr);

Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner = 0);

// The L40S by its published figures, links of 100 Gbit/s and 10 us.
DryRunOptions on_l40s(DryRunMode mode);

}  // namespace rm::test
