#include "engine/main/ring_train_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/words.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"
#include "engine/train/rank_config.h"
#include "engine/windows/rank_layout.h"
#include "spec/mesh.h"

namespace rm {

using nlohmann::json;

namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of a configuration

Status check_engine(const RingTrainConfig& config) {
    constexpr int kMostThreads = 4096;  // no machine has more cores
    if (config.threads_per_rank < 0 || config.threads_per_rank > kMostThreads) {
        return invalid_argument("engine.threads_per_rank: {} must be 0, cores / ranks, or 1 to {}",
                                config.threads_per_rank, kMostThreads);
    }
    constexpr double kMostSeconds = 1e6;
    if (!(config.timeout_seconds > 0 && config.timeout_seconds <= kMostSeconds)) {
        return invalid_argument("engine.timeout_seconds: {} must be above 0, at most {}",
                                config.timeout_seconds, kMostSeconds);
    }
    if (config.stop_after_steps < 0) {
        return invalid_argument("engine.stop_after_steps: {} must not be negative; 0 never stops",
                                config.stop_after_steps);
    }
    return {};
}

Status check_parallel(const Mesh& mesh, const ModelConfig& model) {
    const Status fits = check_mesh(mesh, model.dims());
    return fits ? fits : Status(under_key(fits.error(), "parallel"));
}

// The key of this configuration for one of a job file, by which validate() names what is wrong.
std::string own_path(const std::string& path, const JobSpec& spec) {
    if (path == "retry.lost_after") return path + "_seconds";
    if (path == "checkpoint.every")
        return path + (spec.checkpoint.every_steps < 0 ? "_steps" : "_seconds");
    return path.ends_with(".warmup") ? path + "_steps" : path;
}

Status check_spec(const JobSpec& spec) {
    const Status valid = validate(spec);
    if (valid) return valid;
    std::string faults;
    std::istringstream messages(valid.error().message);
    for (std::string message; std::getline(messages, message);) {
        const std::string path = message.substr(0, message.find(':'));
        faults += (faults.empty() ? "" : "\n") + own_path(path, spec) + message.substr(path.size());
    }
    return make_error(valid.error().code, "{}", faults);
}

// Checks that need no machine; the model of a directory is judged where it is read.
Status check_mesh_fits(const RingTrainConfig& config) {
    const Mesh mesh = config.mesh();
    for (std::size_t i = 0; i < config.spec.stages.size(); ++i) {
        const auto padded = padded_length(config.spec.stages[i].context, mesh);
        if (!padded) return invalid_argument("stages[{}].{}", i, padded.error().message);
    }
    if (config.model) return check_parallel(mesh, *config.model);
    if (config.spec.model.preset.empty()) return {};
    RM_TRY(const ModelConfig model, find_preset(config.spec.model.preset));
    return check_parallel(mesh, model);
}

// The members of `engine` that are words.
struct EngineWords {
    std::string ranks = "threads";
    std::string transport;  // empty: as the ranks need
    std::string device = "cpu";
};

Status apply(const EngineWords& words, RingTrainConfig& config) {
    const auto device = parse_rank_device(words.device);
    if (!device) return within("engine.device", device.error());
    config.device = *device;
    RM_RETURN_IF_ERROR(parse_name(words.ranks, config.ranks));
    const bool threads = config.ranks == RankKind::threads;
    const std::string_view usual = threads ? "local" : "gloo";
    RM_RETURN_IF_ERROR(
        parse_name(words.transport.empty() ? usual : words.transport, config.transport));
    if (config.transport == TransportKind::nccl && (threads || config.device.is_cpu())) {
        return invalid_argument(
            "engine.transport: nccl joins processes that each have a GPU; {} take local or gloo",
            threads ? "threads" : "ranks on the CPU");
    }
    if (threads || config.transport != TransportKind::local) return {};
    return invalid_argument("engine.transport: local joins threads; processes need gloo or nccl");
}

Status read_engine(const json& value, RingTrainConfig& config) {
    EngineWords words;
    JsonObject object(value, "engine");
    object.read("ranks", words.ranks)
        .read("device", words.device)
        .read("tuning_file", config.tuning_file)
        .read("transport", words.transport)
        .read("address", config.address)
        .read("threads_per_rank", config.threads_per_rank)
        .read("timeout_seconds", config.timeout_seconds)
        .read("stop_after_steps", config.stop_after_steps)
        .read("run_dir", config.run_dir);
    if (const json* model = object.member("model")) {
        RM_TRY(config.model, model_config_from_json(*model, "engine.model"));
    }
    RM_RETURN_IF_ERROR(object.finish());
    RM_RETURN_IF_ERROR(apply(words, config));
    return check_engine(config);
}

// The runs of a sequence that is one document.
SequenceRuns runs_of_one_document(const RankLayout& layout) {
    const std::int64_t document = layout.context;
    const DocumentLayout laid_out =
        place_documents({&document, 1}, layout.padded, layout.ring, Positions::reset);
    return make_sequence_runs(laid_out, layout);
}

// In attention the ranks of a ulysses group see all tokens of their slot, each with its heads.
std::int64_t share_of_pairs(const RankLayout& layout, const SequenceRuns& runs) {
    const auto& queries = runs.by_slot[usize(layout.ring_slot)];
    std::int64_t pairs = 0;
    for (const auto& keys : runs.by_slot)
        pairs += attended_pairs(queries, keys);
    return pairs / layout.ulysses;
}

void describe_runs(std::ostringstream& out, const SequenceRuns& runs) {
    for (const Run& run : runs.local) {
        out << (run.document == kPaddingDocument ? "  padding " : "  tokens ") << run.first << ".."
            << run.first + run.length - 1;
    }
}

// Bytes of free host memory; 0 where the system does not say.
Bytes available_memory() {
    std::ifstream lines("/proc/meminfo");
    std::string key, unit;
    std::int64_t kibibytes = 0;
    while (lines >> key >> kibibytes) {
        std::getline(lines, unit);
        if (key == "MemAvailable:") return {kibibytes * 1024};
    }
    return {};
}

}  // namespace

Result<RingTrainConfig> parse_ring_train_config(std::string_view text) {
    Result<json> parsed = parse_strict_json(text, kMostBytes);
    if (!parsed) return invalid_argument("it {}", parsed.error().message);
    json value = *std::move(parsed);
    RingTrainConfig config;
    if (value.is_object() && value.contains("engine")) {
        const json engine = value["engine"];
        value.erase("engine");
        RM_RETURN_IF_ERROR(read_engine(engine, config));
    }
    RM_TRY(config.spec, job_spec_from_json(value));
    RM_RETURN_IF_ERROR(check_spec(config.spec));
    RM_RETURN_IF_ERROR(check_mesh_fits(config));
    return config;
}

RankConfig rank_config(const RingTrainConfig& config, int rank) {
    const Mesh mesh = config.mesh();
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    RankConfig out;
    out.spec = config.spec;
    out.model = config.model;
    out.plan.mesh = mesh;
    out.plan.zero = config.spec.zero;
    out.plan.memory = config.memory_policy();
    out.plan.collective_timeout = {config.timeout_seconds};
    out.rank = rank;
    out.device = config.device;
    out.host_memory = {available_memory().value / mesh.num_ranks()};
    out.num_threads = config.threads_per_rank > 0 ? config.threads_per_rank
                                                  : std::max(1, cores / mesh.num_ranks());
    out.run_dir = config.run_dir;
    out.checkpoint_dir = config.spec.checkpoint.dir;
    out.stop_after_steps = config.stop_after_steps;
    return out;
}

Result<std::string> describe_layout(const RingTrainConfig& config) {
    RM_TRY(const ModelConfig model, resolve_model(config.spec, config.model));
    const Mesh mesh = config.mesh();
    RM_RETURN_IF_ERROR(check_parallel(mesh, model));
    std::ostringstream out;
    out << "mesh        " << to_string(mesh) << ", " << counted(mesh.num_ranks(), "rank")
        << (config.spec.zero > 0 ? format(", ZeRO-{}", config.spec.zero) : "") << '\n'
        << "parameters  " << model.num_parameters() << '\n'
        << "memory      " << to_string(config.memory_policy()) << '\n';
    for (std::size_t i = 0; i < config.spec.stages.size(); ++i) {
        const StageSpec& stage = config.spec.stages[i];
        out << format("stage {:<6}context {}, {} per step, {}\n", i + 1, stage.context,
                      counted(stage.sequences_per_step(), "sequence"),
                      counted(stage.num_steps(), "step"));
        for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
            const RankConfig rank_plan = rank_config(config, rank);
            RM_TRY(const RankLayout layout,
                   make_rank_layout(stage.context, mesh, rank, rank_plan.plan.memory));
            const SequenceRuns runs = runs_of_one_document(layout);
            const std::int64_t pairs = share_of_pairs(layout, runs);
            out << format("  rank {}:", rank);
            describe_runs(out, runs);
            out << format("  ({}, {}, {})\n", counted(layout.local_tokens, "token"),
                          counted(layout.chunks.size(), "chunk"), counted(pairs, "query-key pair"));
        }
    }
    return out.str();
}

}  // namespace rm
