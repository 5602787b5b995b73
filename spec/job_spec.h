#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "spec/evaluation/suite_spec.h"
#include "spec/memory_policy.h"
#include "spec/mesh.h"
#include "spec/network.h"
#include "spec/place_documents.h"
#include "spec/precision/attention_numbers.h"
#include "spec/precision/fp8_spec.h"
#include "spec/precision/message_numbers.h"

// The job as the user submits it. The job file, the wire, the controller's tables and the engine
// all use this type; each has its own conversion and none has a second definition.
namespace rm {

// Exactly one of the two is set.
struct ModelSpec {
    std::string preset;  // a named architecture with fresh weights
    std::string from;    // a Hugging Face directory: its architecture and weights
    bool operator==(const ModelSpec&) const = default;

    const std::string& name() const { return from.empty() ? preset : from; }
};

// One set of a mix. Written "path" or "path@proportion".
struct DataSource {
    std::string path;       // a directory or one file
    double proportion = 0;  // of the samples; 0: as large as the set is
    bool operator==(const DataSource&) const = default;
};
std::string to_string(const DataSource& source);
// Text after the last '@' is a proportion if it is a number; it must then be positive.
Result<DataSource> parse_data_source(std::string_view text);

// How a sequence holds several documents: as one text, or as texts that do not see each other.
enum class Documents { joined, separate };
constexpr auto vocabulary_of(Documents) {
    return vocabulary<Documents>(
        "documents", {{Documents::joined, "joined"}, {Documents::separate, "separate"}});
}

struct DataSpec {
    std::vector<DataSource> sources;
    std::string format = "auto";      // auto | text | jsonl | megatron | llmc | mds
    std::string tokenizer = "bytes";  // bytes, or the path of a tokenizer.json
    double holdout = 0.02;            // share of the data kept out of training for evaluation
    Documents documents = Documents::joined;
    Positions positions = Positions::reset;  // for separate documents
    bool operator==(const DataSpec&) const = default;
};

enum class Schedule { constant, cosine, linear };
constexpr auto vocabulary_of(Schedule) {
    return vocabulary<Schedule>("schedule", {{Schedule::constant, "constant"},
                                             {Schedule::cosine, "cosine"},
                                             {Schedule::linear, "linear"}});
}

// How a stage stretches the rotary embedding: as the model does, not at all (its base alone
// counts), by position interpolation, or by YaRN.
enum class StageRope { model, standard, linear, yarn };
constexpr auto vocabulary_of(StageRope) {
    return vocabulary<StageRope>("rope", {{StageRope::model, "model"},
                                          {StageRope::standard, "default"},
                                          {StageRope::linear, "linear"},
                                          {StageRope::yarn, "yarn"}});
}
constexpr double kAutoTheta = -1;  // a base for the stage's context: see stage_rope()

// Whether the optimizer's moments and its count of steps go on from the stage before.
enum class StageOptimizer { goes_on, anew };
constexpr auto vocabulary_of(StageOptimizer) {
    return vocabulary<StageOptimizer>(
        "optimizer", {{StageOptimizer::goes_on, "continue"}, {StageOptimizer::anew, "anew"}});
}

// A part of a job with its own context length, batch, RoPE base and token budget.
struct StageSpec {
    std::int64_t context = 0;     // tokens of one sequence (S); a sample uses S + 1
    std::int64_t batch = 0;       // tokens per optimizer step, a multiple of context
    std::int64_t tokens = 0;      // budget; rounded to the nearest whole step, at least one
    double rope_theta = 0;        // base of the rotary angles; 0: the model's own; kAutoTheta
    double learning_rate = 3e-4;  // at the end of warm-up
    std::int64_t warmup_steps = 0;
    Schedule schedule = Schedule::constant;
    double final_learning_rate = 0;  // where cosine and linear end
    StageRope rope = StageRope::model;
    double rope_factor = 0;  // of linear and yarn; 0: context / pretrained context
    StageOptimizer optimizer = StageOptimizer::goes_on;
    bool operator==(const StageSpec&) const = default;

    std::int64_t num_steps() const;
    std::int64_t sequences_per_step() const { return batch / context; }
};

// A type of numbers that a job names: `fp32` or `bf16`; with `fp8`, everything that is not rounded
// to FP8 is bf16.
enum class Precision { fp32, bf16 };
// The precision that a valid job's word names.
constexpr Precision precision_of(std::string_view word) {
    return word == "fp32" ? Precision::fp32 : Precision::bf16;
}
constexpr int bytes_of(Precision precision) {
    return precision == Precision::bf16 ? 2 : 4;
}

// Where master weights and moments live and the update runs.
enum class OptimizerPlace { device, host };
constexpr auto vocabulary_of(OptimizerPlace) {
    return vocabulary<OptimizerPlace>(
        "place", {{OptimizerPlace::device, "device"}, {OptimizerPlace::host, "host"}});
}

// The end of a run whose loss has left the range of a model that learns.
enum class Divergence { warn, stop };
constexpr auto vocabulary_of(Divergence) {
    return vocabulary<Divergence>("divergence",
                                  {{Divergence::warn, "warn"}, {Divergence::stop, "stop"}});
}

struct OptimizerSpec {
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    double clip_norm = 1.0;  // 0: never clips
    OptimizerPlace place = OptimizerPlace::device;
    std::string moments = "fp32";    // fp32 | bf16 (rounded stochastically)
    std::string gradients = "fp32";  // fp32 | bf16: of all but norms, once a rank has formed them
    int max_skipped = 10;            // a run fails after this many non-finite updates in a row
    Divergence divergence = Divergence::warn;
    bool operator==(const OptimizerSpec&) const = default;
};

struct ResourcesSpec {
    int devices = 0;   // 0: the mesh's size
    std::string kind;  // "cpu" or a GPU's name; empty: any one kind
    // The device of each rank: every attempt runs exactly there. Empty: the planner chooses.
    std::vector<DeviceId> placement;
    double max_cost_usd = 0;  // of all attempts together; 0: no limit
    bool operator==(const ResourcesSpec&) const = default;
};

struct CheckpointSpec {
    std::string dir;               // empty: below the cluster's state directory
    std::int64_t every_steps = 0;  // 0: `every` decides
    int keep = 2;
    // Checkpoint directory to start from while the job has none of its own; empty: start from the
    // seed's weights or model.from. Position, data order and steps continue from there.
    std::string from;
    // At most this much training lies between two checkpoints, by rank 0's clock. Zero: checkpoints
    // are written only at the end and when the job is asked to stop.
    Seconds every{600};
    bool operator==(const CheckpointSpec&) const = default;
};

// Output written after the last step.
struct ExportSpec {
    std::string huggingface;  // directory, created or replaced; empty: no export
    bool operator==(const ExportSpec&) const = default;
};

// How to retry a job whose attempt failed for a reason that may not recur.
struct RetrySpec {
    int max = 3;               // further attempts after failures; draining a node is no failure
    Seconds lost_after{1800};  // an attempt is lost if no worker reports progress for so long
    bool operator==(const RetrySpec&) const = default;
};

struct EvaluationSpec {
    std::int64_t every_steps = 0;  // 0: only at the end
    std::int64_t tokens = 65536;   // held-out tokens per evaluation, at most
    std::vector<SuiteSpec> suites;
    std::vector<PromptSpec> prompts;  // continued at each evaluation
    bool operator==(const EvaluationSpec&) const = default;
};

struct JobSpec {
    std::string name;
    ModelSpec model;
    DataSpec data;
    std::uint64_t seed = 1;
    std::vector<StageSpec> stages;
    std::optional<Mesh> parallel;  // nullopt: auto
    // ZeRO stage over data x ring x ulysses: 0 shards nothing, 1 the optimizer's state, 2 gradients
    // too, 3 weights too.
    int zero = 0;
    MemorySpec memory;
    std::string precision = "fp32";  // of compute: fp32 | bf16 | fp8; weights and sums are fp32
    Fp8Spec fp8;                     // of precision fp8
    AttentionNumbers attention = AttentionNumbers::compute;
    MessageSpec messages;
    OptimizerSpec optimizer;
    ResourcesSpec resources;
    std::optional<NetworkKind> network;  // nullopt: chosen by the plan
    Reproducible reproducible = Reproducible::off;
    CheckpointSpec checkpoint;
    EvaluationSpec evaluation;
    ExportSpec exports;
    RetrySpec retry;
    int priority = 0;  // higher first, then older
    std::vector<std::string> tags;
    std::string note;
    bool operator==(const JobSpec&) const = default;

    std::int64_t num_steps() const;  // over all stages; 0: the job only evaluates
    bool reads_data() const;         // false: it only examines, by suites and prompts
    // The stage with the longest context, the first of equal ones, whose steps take the most memory
    // and time. There is one.
    int longest_stage_index() const;
    // Number of ranks that the job requires; nullopt: any number.
    std::optional<int> num_ranks() const;
};

inline bool computes_in_fp8(const JobSpec& spec) {
    return spec.precision == "fp8";
}
// Nothing where the job does not compute in FP8; see check_fp8_model.
Status check_fp8(const JobSpec& spec, const ModelConfig& model, int tensor);

// Checks everything that needs no machine: names, ranges, batch against context, the mesh against
// the model's sizes when `parallel` is given, context against the mesh, features that do not exist
// yet. The error names the key path, the value and what would be valid.
Status validate(const JobSpec& spec);

}  // namespace rm
