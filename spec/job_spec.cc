#include "spec/job_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "base/words.h"
#include "spec/machine/device_kind.h"
#include "spec/mesh.h"
#include "spec/model_preset.h"

namespace rm {
namespace {

constexpr std::size_t kMaxName = 63;

bool is_name(const std::string& name) {
    return !name.empty() && name.size() <= kMaxName && name.front() != '.' && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
}

Status check_name(const std::string& name) {
    if (is_name(name)) return {};
    return invalid_argument(
        "name: '{}' must be 1 to {} letters, digits, '_', '-' or '.', "
        "not beginning with the last two",
        name, kMaxName);
}

Status check_model(const ModelSpec& model) {
    if (model.preset.empty() == model.from.empty()) {
        return invalid_argument(
            "model: {}; either preset, a named architecture, or from, a Hugging Face directory",
            model.from.empty() ? "neither preset nor from is given" : "both preset and from are");
    }
    if (model.from.empty()) {
        RM_TRY([[maybe_unused]] const ModelConfig known, find_preset(model.preset));
    }
    return {};
}

Status check_source(const DataSource& source) {
    if (source.path.empty()) return invalid_argument("data.path: empty; a directory or a file");
    if (source.path.find('\n') != std::string::npos) {
        return invalid_argument("data.path: '{}' has a line break in it", source.path);
    }
    if (!(source.proportion >= 0) || !std::isfinite(source.proportion)) {
        return invalid_argument("data.path: '{}' has proportion {}; it must be positive",
                                source.path, source.proportion);
    }
    return {};
}

Status check_sources(const std::vector<DataSource>& sources) {
    if (sources.empty()) return invalid_argument("data.path: missing; a directory or a file");
    for (const DataSource& source : sources)
        RM_RETURN_IF_ERROR(check_source(source));
    const auto given = std::count_if(sources.begin(), sources.end(),
                                     [](const DataSource& s) { return s.proportion > 0; });
    if (given == 0 || given == std::ssize(sources)) return {};
    return invalid_argument("data.path: {} of {} sources have a proportion; all or none", given,
                            sources.size());
}

Status check_data(const JobSpec& spec) {
    const DataSpec& data = spec.data;
    if (spec.reads_data() || !data.sources.empty()) RM_RETURN_IF_ERROR(check_sources(data.sources));
    constexpr std::array<std::string_view, 6> kFormats = {"auto",     "text", "jsonl",
                                                          "megatron", "llmc", "mds"};
    if (std::find(kFormats.begin(), kFormats.end(), data.format) == kFormats.end()) {
        return invalid_argument(
            "data.format: '{}' is not known; auto, text, jsonl, megatron, llmc or "
            "mds",
            data.format);
    }
    if (data.tokenizer.empty()) {
        return invalid_argument("data.tokenizer: empty; bytes, or the path of a tokenizer.json");
    }
    if (!(data.holdout >= 0 && data.holdout <= 0.5)) {
        return invalid_argument("data.holdout: {} must be between 0 and 0.5", data.holdout);
    }
    return {};
}

// Far above any real job, and products of two stay within 64 bits.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;  // per step
constexpr std::int64_t kMostBudget = std::int64_t{1} << 56;

Status check_size(std::int64_t tokens, std::int64_t most, std::size_t index, std::string_view key) {
    if (tokens <= most) return {};
    return invalid_argument("stages[{}].{}: {} tokens; at most {}", index, key, tokens, most);
}

Status check_batch(const StageSpec& stage, std::size_t index) {
    if (stage.batch >= stage.context && stage.batch % stage.context == 0) return {};
    const std::int64_t below = stage.batch / stage.context * stage.context;
    const std::int64_t above = below + stage.context;
    return invalid_argument(
        "stages[{}].batch: {} is not a multiple of the context {}; the nearest: {}", index,
        stage.batch, stage.context,
        below > 0 ? format("{} or {}", below, above) : format("{}", above));
}

Status check_theta(const StageSpec& stage, std::size_t index) {
    const bool own_theta = stage.rope_theta == 0 || stage.rope_theta == kAutoTheta;
    if (!own_theta && !(stage.rope_theta > 1 && std::isfinite(stage.rope_theta))) {
        return invalid_argument("stages[{}].rope_theta: {} must be above 1, or auto", index,
                                stage.rope_theta);
    }
    if (stage.rope_factor == 0) return {};
    if (stage.rope != StageRope::linear && stage.rope != StageRope::yarn) {
        return invalid_argument("stages[{}].rope_factor: is of rope linear or yarn, not of {}",
                                index, to_string(stage.rope));
    }
    if (stage.rope_factor >= 1 && std::isfinite(stage.rope_factor)) return {};
    return invalid_argument("stages[{}].rope_factor: {} must be 1 or more", index,
                            stage.rope_factor);
}

Status check_rates(const StageSpec& stage, std::size_t index) {
    RM_RETURN_IF_ERROR(check_theta(stage, index));
    if (stage.num_steps() == 0) return {};  // it only evaluates
    if (!(stage.learning_rate > 0) || !std::isfinite(stage.learning_rate)) {
        return invalid_argument("stages[{}].learning_rate: {} must be a positive number", index,
                                stage.learning_rate);
    }
    if (!(stage.final_learning_rate >= 0 && stage.final_learning_rate <= stage.learning_rate)) {
        return invalid_argument(
            "stages[{}].final_learning_rate: {} must be between 0 and the learning rate {}", index,
            stage.final_learning_rate, stage.learning_rate);
    }
    if (stage.warmup_steps < 0 || stage.warmup_steps > stage.num_steps()) {
        return invalid_argument("stages[{}].warmup: {}; the stage has {}", index,
                                counted(stage.warmup_steps, "step"), stage.num_steps());
    }
    return {};
}

Status check_stage(const JobSpec& spec, std::size_t index) {
    const StageSpec& stage = spec.stages[index];
    if (stage.context < 1) {
        return invalid_argument("stages[{}].context: {} must be a positive number of tokens", index,
                                stage.context);
    }
    RM_RETURN_IF_ERROR(check_size(stage.context, kMostTokens, index, "context"));
    RM_RETURN_IF_ERROR(check_size(stage.batch, kMostTokens, index, "batch"));
    RM_RETURN_IF_ERROR(check_batch(stage, index));
    if (stage.tokens < 0 || (stage.tokens == 0 && spec.stages.size() > 1)) {
        return invalid_argument(
            "stages[{}].tokens: {} must be a positive number of tokens; 0, for a job that only "
            "evaluates, is for a single stage",
            index, stage.tokens);
    }
    RM_RETURN_IF_ERROR(check_size(stage.tokens, kMostBudget, index, "tokens"));
    RM_RETURN_IF_ERROR(check_rates(stage, index));
    if (!spec.parallel) return {};
    if (const auto padded = padded_length(stage.context, *spec.parallel); !padded) {
        return invalid_argument("stages[{}].{}", index, padded.error().message);
    }
    const int data = spec.parallel->size(Axis::data);
    if (stage.sequences_per_step() < data) {
        return invalid_argument(
            "stages[{}].batch: {} is {} of {} tokens, fewer than parallel.data {}; the "
            "nearest that fills the mesh: {}",
            index, stage.batch, counted(stage.sequences_per_step(), "sequence"), stage.context,
            data, stage.context * data);
    }
    return {};
}

// A tile is shared by the ranks of a tensor group.
Status check_tile_splits(std::int64_t tile, int tensor) {
    if (tile % tensor == 0) return {};
    const std::int64_t step = std::lcm<std::int64_t>(kTileUnit, tensor);
    const std::int64_t below = tile / step * step;
    return invalid_argument(
        "parallel.tensor: {} does not divide memory.tile {}; the nearest multiples of {} that it "
        "divides: {}",
        tensor, tile, kTileUnit,
        below > 0 ? format("{} or {}", below, below + step) : format("{}", step));
}

Status check_parallel(const JobSpec& spec) {
    if (spec.zero < 0 || spec.zero > 3) {
        return invalid_argument("parallel.zero: {} must be 0, 1, 2 or 3", spec.zero);
    }
    if (!spec.parallel) return {};
    // The sizes of a model.from are only known where its directory is read.
    if (!spec.model.preset.empty()) {
        RM_TRY(const ModelConfig model, find_preset(spec.model.preset));
        const Status fits = check_mesh(*spec.parallel, model.dims());
        if (!fits) return under_key(fits.error(), "parallel");
        RM_RETURN_IF_ERROR(check_fp8(spec, model, spec.parallel->size(Axis::tensor)));
    }
    RM_RETURN_IF_ERROR(
        check_tile_splits(spec.memory.tile_or_usual(), spec.parallel->size(Axis::tensor)));
    const int ranks = spec.parallel->num_ranks();
    if (spec.resources.devices != 0 && spec.resources.devices != ranks) {
        return invalid_argument("resources.devices: {} but the mesh {} has {}; leave it out or {}",
                                spec.resources.devices, to_string(*spec.parallel),
                                counted(ranks, "rank"), ranks);
    }
    return {};
}

Status check_placement(const JobSpec& spec) {
    const std::vector<DeviceId>& placement = spec.resources.placement;
    if (placement.empty()) return {};
    std::map<DeviceId, std::size_t> ranks;
    for (std::size_t rank = 0; rank < placement.size(); ++rank) {
        const DeviceId& device = placement[rank];
        if (device.node.empty() || device.index < 0) {
            return invalid_argument(
                "resources.placement[{}]: '{}' is not a device; NODE or NODE:NUMBER", rank, device);
        }
        const auto [first, added] = ranks.try_emplace(device, rank);
        if (added) continue;
        return invalid_argument(
            "resources.placement[{}]: device {} is there twice, for ranks {} and {}", rank, device,
            first->second, rank);
    }
    const int wanted = *spec.num_ranks();
    if (wanted == static_cast<int>(placement.size())) return {};
    return invalid_argument("resources.placement: {} for {}; give one for each rank",
                            counted(placement.size(), "device"), counted(wanted, "rank"));
}

Status check_optimizer(const OptimizerSpec& o) {
    const auto fraction = [](double x) { return x >= 0 && x < 1; };
    if (!fraction(o.beta1))
        return invalid_argument("optimizer.beta1: {} must be in [0, 1)", o.beta1);
    if (!fraction(o.beta2))
        return invalid_argument("optimizer.beta2: {} must be in [0, 1)", o.beta2);
    if (!(o.eps > 0)) return invalid_argument("optimizer.eps: {} must be positive", o.eps);
    if (!(o.weight_decay >= 0)) {
        return invalid_argument("optimizer.weight_decay: {} must not be negative", o.weight_decay);
    }
    if (!(o.clip_norm >= 0)) {
        return invalid_argument("optimizer.clip_norm: {} must not be negative; 0 never clips",
                                o.clip_norm);
    }
    if (o.max_skipped < 1) {
        return invalid_argument("optimizer.max_skipped: {} must be 1 or more", o.max_skipped);
    }
    if (o.moments != "fp32" && o.moments != "bf16") {
        return invalid_argument("optimizer.moments: '{}' is not known; fp32 or bf16", o.moments);
    }
    if (o.gradients != "fp32" && o.gradients != "bf16") {
        return invalid_argument("optimizer.gradients: '{}' is not known; fp32 or bf16",
                                o.gradients);
    }
    return {};
}

Status check_precision(const JobSpec& spec) {
    if (spec.precision != "fp32" && spec.precision != "bf16" && spec.precision != "fp8") {
        return invalid_argument("precision: '{}' is not known; fp32, bf16 or fp8", spec.precision);
    }
    if (!computes_in_fp8(spec) && spec.fp8 != Fp8Spec()) {
        return invalid_argument(
            "fp8: is for precision fp8, and precision is {}; set that or leave "
            "fp8 out",
            spec.precision);
    }
    RM_RETURN_IF_ERROR(check_fp8_spec(spec.fp8));
    if (spec.attention == AttentionNumbers::eight_bit && spec.precision == "fp32") {
        return invalid_argument(
            "attention: 8bit is for precision bf16 or fp8, and precision is fp32; set one of these "
            "or leave attention out");
    }
    const auto model = find_preset(spec.model.preset);
    return model ? check_fp8(spec, *model, 1) : Status();
}

// A job without steps.
Status check_evaluates(const JobSpec& spec) {
    if (spec.stages.empty() || spec.num_steps() > 0) return {};
    if (spec.model.from.empty() && spec.checkpoint.from.empty()) {
        return invalid_argument(
            "stages[0].tokens: 0 only evaluates, and there is nothing to evaluate: name "
            "checkpoint.from or model.from");
    }
    const EvaluationSpec& evaluation = spec.evaluation;
    if (evaluation.tokens > 0 || !evaluation.suites.empty() || !evaluation.prompts.empty())
        return {};
    return invalid_argument(
        "evaluate.tokens: 0; a job that only evaluates (stages[0].tokens: 0) needs more, or "
        "suites or prompts");
}

Status check_evaluation(const EvaluationSpec& evaluation) {
    if (evaluation.every_steps < 0 || evaluation.tokens < 0) {
        return invalid_argument("evaluate: every {} steps, {} tokens; neither may be negative",
                                evaluation.every_steps, evaluation.tokens);
    }
    RM_RETURN_IF_ERROR(check_suites(evaluation.suites));
    return check_prompts(evaluation.prompts);
}

Status check_tags(const std::vector<std::string>& tags) {
    constexpr std::size_t kMostTags = 32;
    if (tags.size() > kMostTags)
        return invalid_argument("tags: {}; at most {}", tags.size(), kMostTags);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        if (is_name(tags[i])) continue;
        return invalid_argument(
            "tags[{}]: '{}' must be 1 to {} letters, digits, '_', '-' or '.', not beginning with "
            "the last two",
            i, tags[i], kMaxName);
    }
    return {};
}

Status check_rest(const JobSpec& spec) {
    RM_RETURN_IF_ERROR(check_precision(spec));
    if (spec.resources.devices < 0) {
        return invalid_argument("resources.devices: {} must not be negative",
                                spec.resources.devices);
    }
    if (!(spec.resources.max_cost_usd >= 0)) {
        return invalid_argument("resources.max_cost_usd: {} must not be negative; 0 is no limit",
                                spec.resources.max_cost_usd);
    }
    RM_RETURN_IF_ERROR(check_placement(spec));
    if (spec.checkpoint.every_steps < 0) {
        return invalid_argument("checkpoint.every: {} steps must not be negative",
                                spec.checkpoint.every_steps);
    }
    if (!(spec.checkpoint.every.value >= 0) || !std::isfinite(spec.checkpoint.every.value)) {
        return invalid_argument("checkpoint.every: {} must not be negative; 0 s is never",
                                spec.checkpoint.every);
    }
    if (spec.checkpoint.keep < 1) {
        return invalid_argument("checkpoint.keep: {} must be 1 or more", spec.checkpoint.keep);
    }
    if (spec.retry.max < 0) {
        return invalid_argument("retry.max: {} must not be negative", spec.retry.max);
    }
    if (!(spec.retry.lost_after.value > 0)) {
        return invalid_argument("retry.lost_after: {} must be positive", spec.retry.lost_after);
    }
    RM_RETURN_IF_ERROR(check_evaluates(spec));
    RM_RETURN_IF_ERROR(check_evaluation(spec.evaluation));
    return check_tags(spec.tags);
}

}  // namespace

std::string to_string(const DataSource& source) {
    if (source.proportion == 0) return source.path;
    // The shortest text that gives the same number back.
    std::array<char, 32> number;
    const auto end = std::to_chars(number.begin(), number.end(), source.proportion).ptr;
    return source.path + '@' + std::string(number.begin(), end);
}

Result<DataSource> parse_data_source(std::string_view text) {
    const std::size_t at = text.rfind('@');
    if (at == std::string_view::npos) return DataSource{std::string(text), 0};
    const auto proportion = parse_number<double>(text.substr(at + 1));
    if (!proportion) return DataSource{std::string(text), 0};
    if (*proportion > 0 && std::isfinite(*proportion))
        return DataSource{std::string(text.substr(0, at)), *proportion};
    return invalid_argument("'{}': a proportion of {}; it must be positive", text,
                            text.substr(at + 1));
}

std::int64_t StageSpec::num_steps() const {
    if (tokens == 0) return 0;
    return std::max<std::int64_t>(1, (tokens + batch / 2) / batch);
}

bool JobSpec::reads_data() const {
    return evaluation.tokens > 0 || stages.empty() ||
           std::ranges::any_of(stages, [](const StageSpec& stage) { return stage.tokens != 0; });
}

std::int64_t JobSpec::num_steps() const {
    std::int64_t steps = 0;
    for (const StageSpec& stage : stages)
        steps += stage.num_steps();
    return steps;
}

int JobSpec::longest_stage_index() const {
    const auto longest = std::max_element(
        stages.begin(), stages.end(),
        [](const StageSpec& a, const StageSpec& b) { return a.context < b.context; });
    return static_cast<int>(longest - stages.begin());
}

std::optional<int> JobSpec::num_ranks() const {
    if (parallel) return parallel->num_ranks();
    if (resources.devices > 0) return resources.devices;
    if (!resources.placement.empty()) return static_cast<int>(resources.placement.size());
    return std::nullopt;
}

Status check_fp8(const JobSpec& spec, const ModelConfig& model, int tensor) {
    if (!computes_in_fp8(spec)) return {};
    return check_fp8_model(spec.fp8, model, spec.model.name(), tensor);
}

Status validate(const JobSpec& spec) {
    std::vector<std::string> faults;  // everything that is wrong
    const auto add = [&faults](const Status& status) {
        if (!status) faults.push_back(status.error().message);
    };
    add(check_name(spec.name));
    add(check_model(spec.model));
    add(check_data(spec));
    add(check_memory(spec.memory));
    add(check_parallel(spec));
    if (spec.stages.empty()) add(invalid_argument("stages: empty; a job has at least one stage"));
    for (std::size_t i = 0; i < spec.stages.size(); ++i)
        add(check_stage(spec, i));
    add(check_optimizer(spec.optimizer));
    add(check_rest(spec));
    if (!spec.resources.kind.empty()) add(check_computes(spec, spec.resources.kind));
    if (spec.resources.kind == kCpuKind && spec.network == NetworkKind::nccl)
        add(invalid_argument("network: nccl is between GPUs; resources.kind is cpu"));
    return faults.empty() ? Status() : Status(invalid_argument("{}", join(faults, "\n")));
}

}  // namespace rm
