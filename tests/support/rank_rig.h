#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/transport/transport.h"
#include "engine/model/linears/linear_precision.h"
#include "engine/train/rank_engine.h"
#include "engine/train/save/meeting.h"
#include "kernels/kernels.h"
#include "spec/job_spec.h"
#include "spec/mesh.h"
#include "spec/model_preset.h"
#include "spec/plan.h"

namespace rm::test {

using KernelsFactory = std::function<std::unique_ptr<Kernels>()>;
KernelsFactory ref_backend();
KernelsFactory cpu_backend(int num_threads, DType compute = DType::f32);
// The same on a device whose memory is closed to the host.
KernelsFactory closed_cpu_backend(int num_threads, DType compute = DType::f32);

// Calls run(rank) on a thread for each rank; then throws what the lowest failed rank threw.
void on_every_rank(int num_ranks, const std::function<void(int rank)>& run);

// gloo: every rank is on a node of its own; shared: all are on one.
enum class RigTransport { local, shared, gloo };

// The engine below run_rank on random tokens: ranks are threads.
struct RigConfig {
    KernelsFactory backend;
    Mesh mesh;
    ModelConfig model;
    std::int64_t context = 128;
    std::int64_t sequences = 1;  // per step
    std::int64_t steps = 1;      // with updates; 0: gradients of the first step only
    double learning_rate = 1e-2;
    std::int64_t tile = 64;
    std::int64_t chunk = 64;
    MemoryPolicy memory;  // except tile and chunk
    std::uint64_t seed = 1;
    RigTransport transport = RigTransport::local;
    int zero = 0;  // ZeRO stage
    // Lengths of the documents of each sequence; empty: one document.
    std::vector<std::int64_t> documents;
    Positions positions = Positions::reset;
    StateTypes types;
    LinearPrecision linears = {};
    AttentionNumbers attention = AttentionNumbers::compute;
    MessageSpec messages;
    KernelsFactory host;  // where state lives; empty: on the device
    LocalLinks links;
    std::int64_t vocabulary_block = 0;  // of RankSpec
    std::int64_t new_tokens = 0;        // of StageShape
    // Changes the parameters that a rank begins with; or empty.
    std::function<void(WeightState&)> change;
};

using Values = std::map<std::string, std::vector<double>>;  // by parameter name

struct RigResult {
    std::vector<double> losses;            // of each step (or of the gradients)
    std::vector<double> grad_norms;        // of each step
    Values gradients;                      // after the last step's reduction
    Values weights;                        // after the last update
    std::vector<std::int64_t> ring_bytes;  // sent along the ring, by rank, all steps
    // By rank: what each collective sent in all steps, by comm_name.
    std::vector<std::map<std::string, std::int64_t>> bytes;
    StepResult last;                      // of rank 0
    std::map<std::string, Bytes> memory;  // of rank 0's device, by kind
};

// Calls use(engine) on a thread for each rank of the mesh, with its stage entered.
void on_every_engine(const RigConfig& config, const std::function<void(RankEngine&)>& use);

Meeting::Options meeting_of(const RankEngine& engine);

// The random sequences of a step.
std::vector<Sample> random_sequences(const RigConfig& config, std::int64_t step);

// Assembles the result from all ranks. Checks that replicas have the same bits, and that all ranks
// have the same losses and norms.
RigResult run_rig(const RigConfig& config);

ModelConfig small_model();
MemoryPolicy policy_of(KeptPlace kept, WorkingSet working, Keep keep, double alpha);

// max |a - b| relative to b's largest element.
double relative_difference(const std::vector<double>& a, const std::vector<double>& b);
double norm_difference(const std::vector<double>& a, const std::vector<double>& b);
double norm(const std::vector<double>& a);

}  // namespace rm::test
