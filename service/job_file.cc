#include "service/job_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <optional>
#include <sstream>

#include "base/mesh_key.h"
#include "service/yaml_fields.h"
#include "service/yaml_tree.h"

namespace rm {
namespace {

// A text that is one of an enum's words.
template <typename E>
YamlReader read_word(E& target, Result<E> (*parse)(std::string_view)) {
    return [&target, parse](const YamlValue& value) -> Status {
        std::string word;
        RM_RETURN_IF_ERROR(read_text(word)(value));
        const Result<E> parsed = parse(word);
        if (!parsed) return value.error(parsed.error().message);
        target = *parsed;
        return {};
    };
}

// `auto` leaves the target alone; `read` takes anything else.
YamlReader or_auto(const YamlReader& read) {
    return [read](const YamlValue& value) {
        return is_word(value.node, "auto") ? Status() : read(value);
    };
}

// A value that need not be there.
template <typename T>
YamlReader read_maybe(std::optional<T>& target, YamlReader (*reader)(T&)) {
    return [&target, reader](const YamlValue& value) { return reader(target.emplace())(value); };
}

YamlReader read_model(ModelSpec& model, const std::string& base_directory) {
    return [&model, base_directory](const YamlValue& value) {
        return read_map(value, {{"preset", read_text(model.preset)},
                                {"from", read_path(model.from, base_directory)}});
    };
}

Status read_source(const YamlValue& value, std::vector<DataSource>& sources,
                   const std::string& base_directory) {
    std::string text;
    RM_RETURN_IF_ERROR(read_path(text, base_directory)(value));
    Result<DataSource> source = parse_data_source(text);
    if (!source) return value.error(source.error().message);
    sources.push_back(*std::move(source));
    return {};
}

// One source or a list of them.
YamlReader read_sources(std::vector<DataSource>& sources, const std::string& base_directory) {
    return [&sources, base_directory](const YamlValue& value) {
        const auto read_one = [&](const YamlValue& item) {
            return read_source(item, sources, base_directory);
        };
        if (value.node.kind == YamlNode::Kind::sequence) return read_sequence(value, read_one);
        return read_one(value);
    };
}

// A word of its own, or a path.
YamlReader read_tokenizer(std::string& tokenizer, const std::string& base_directory) {
    return [&tokenizer, base_directory](const YamlValue& value) {
        if (is_word(value.node, "bytes")) return read_text(tokenizer)(value);
        return read_path(tokenizer, base_directory)(value);
    };
}

// Who writes `positions` means documents that are apart.
Status check_positions(const YamlValue& data, Documents documents) {
    const YamlEntry* positions = data.node.find("positions");
    if (positions == nullptr || documents == Documents::separate) return {};
    return error_at(data.file_name, positions->place,
                    "data.positions: is of separate documents, and these are joined; add "
                    "documents: separate or remove the key");
}

YamlReader read_data(DataSpec& data, const std::string& base_directory) {
    return [&data, base_directory](const YamlValue& value) -> Status {
        RM_RETURN_IF_ERROR(read_map(
            value, {{"path", read_sources(data.sources, base_directory), Presence::required},
                    {"format", read_text(data.format)},
                    {"tokenizer", read_tokenizer(data.tokenizer, base_directory)},
                    {"holdout", read_number(data.holdout)},
                    {"documents", read_word(data.documents, parse_documents)},
                    {"positions", read_word(data.positions, parse_positions)}}));
        return check_positions(value, data.documents);
    };
}

Status read_stage(const YamlValue& value, StageSpec& stage) {
    return read_map(value,
                    {{"context", read_count(stage.context, Suffix::binary), Presence::required},
                     {"batch", read_count(stage.batch, Suffix::binary), Presence::required},
                     {"tokens", read_count(stage.tokens, Suffix::decimal), Presence::required},
                     {"rope_theta", read_number(stage.rope_theta)},
                     {"learning_rate", read_number(stage.learning_rate)},
                     {"warmup", read_steps(stage.warmup_steps)},
                     {"schedule", read_word(stage.schedule, parse_schedule)},
                     {"final_learning_rate", read_number(stage.final_learning_rate)}});
}

YamlReader read_stages(std::vector<StageSpec>& stages) {
    return [&stages](const YamlValue& value) {
        return read_sequence(value, [&stages](const YamlValue& item) {
            return read_stage(item, stages.emplace_back());
        });
    };
}

// At the value of the axis that `error` names, or at the mesh.
Error mesh_error(const YamlValue& value, const Error& error) {
    for (const YamlEntry& entry : value.node.entries) {
        const std::string axis = format("{}.{}: ", value.path, entry.key);
        if (error.message.starts_with(axis))
            return error_at(value.file_name, entry.value.place, error.message);
    }
    return error_at(value.file_name, value.node.place, error.message);
}

// `zero` alone leaves the mesh automatic.
YamlReader read_parallel(JobSpec& spec) {
    return [&spec](const YamlValue& value) -> Status {
        if (is_word(value.node, "auto")) return {};
        if (value.node.kind != YamlNode::Kind::map) {
            return value.error("must be auto or a map such as {ring: 4, data: 1}");
        }
        std::array<int, 4> sizes = {1, 1, 1, 1};  // data, ring, ulysses, tensor
        int inner_ring = 0;
        RM_RETURN_IF_ERROR(read_map(value, {{"data", read_whole(sizes[0])},
                                            {"ring", read_whole(sizes[1])},
                                            {"inner_ring", read_whole(inner_ring)},
                                            {"ulysses", read_whole(sizes[2])},
                                            {"tensor", read_whole(sizes[3])},
                                            {"zero", read_whole(spec.zero)}}));
        const auto& entries = value.node.entries;
        if (entries.size() == 1 && entries.front().key == "zero") return {};
        const Result<Mesh> mesh = Mesh::make(sizes[0], sizes[1], sizes[2], sizes[3], inner_ring);
        if (!mesh) return mesh_error(value, under_key(mesh.error(), value.path));
        spec.parallel = *mesh;
        return {};
    };
}

YamlReader read_memory(MemorySpec& memory) {
    return [&memory](const YamlValue& value) -> Status {
        if (is_word(value.node, "auto")) return {};
        if (value.node.kind != YamlNode::Kind::map) {
            return value.error("must be auto or a map such as {chunk: 4096}");
        }
        return read_map(value, {{"tile", read_count(memory.tile, Suffix::binary)},
                                {"chunk", or_auto(read_count(memory.chunk, Suffix::binary))},
                                {"keep", read_word(memory.keep, parse_keep_or_auto)},
                                {"alpha", or_auto(read_maybe(memory.alpha, read_number))},
                                {"offload", read_word(memory.offload, parse_switch)},
                                {"windows", read_word(memory.windows, parse_switch)},
                                {"prefetch", read_whole(memory.prefetch)},
                                {"arena", read_word(memory.arena, parse_arena_reuse)},
                                {"device", read_maybe(memory.device, read_bytes)},
                                {"host", read_maybe(memory.host, read_bytes)}});
    };
}

YamlReader read_optimizer(OptimizerSpec& optimizer) {
    return [&optimizer](const YamlValue& value) {
        return read_map(value, {{"beta1", read_number(optimizer.beta1)},
                                {"beta2", read_number(optimizer.beta2)},
                                {"eps", read_number(optimizer.eps)},
                                {"weight_decay", read_number(optimizer.weight_decay)},
                                {"clip_norm", read_number(optimizer.clip_norm)},
                                {"place", read_word(optimizer.place, parse_optimizer_place)},
                                {"moments", read_text(optimizer.moments)},
                                {"max_skipped", read_whole(optimizer.max_skipped)}});
    };
}

// NODE:NUMBER; NODE is its first.
Status read_device(const YamlValue& value, DeviceId& device) {
    std::string text;
    RM_RETURN_IF_ERROR(read_text(text)(value));
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    device.node = {text.substr(0, colon)};
    if (colon == text.size()) return {};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, device.index);
    if (error == std::errc() && stop == end) return {};
    return value.error(format("'{}' is not a device; NODE or NODE:NUMBER", text));
}

YamlReader read_placement(std::vector<DeviceId>& placement) {
    return [&placement](const YamlValue& value) {
        return read_sequence(value, [&placement](const YamlValue& item) {
            return read_device(item, placement.emplace_back());
        });
    };
}

YamlReader read_resources(ResourcesSpec& resources) {
    return [&resources](const YamlValue& value) {
        return read_map(value, {{"devices", read_whole(resources.devices)},
                                {"kind", read_text(resources.kind)},
                                {"placement", read_placement(resources.placement)},
                                {"max_cost_usd", not_there_yet()}});
    };
}

// "10 steps", "10 min" or never.
YamlReader read_every(CheckpointSpec& checkpoint) {
    return [&checkpoint](const YamlValue& value) -> Status {
        const bool by_steps = value.node.kind == YamlNode::Kind::text &&
                              value.node.text.find("step") != std::string::npos;
        if (by_steps || is_word(value.node, "never")) checkpoint.every = {};
        if (is_word(value.node, "never")) return {};
        if (by_steps) return read_steps(checkpoint.every_steps)(value);
        if (read_duration(checkpoint.every)(value)) return {};
        const bool is_text = value.node.kind == YamlNode::Kind::text;
        return value.error(
            format("{}must be steps such as '10 steps', a time such as '10 min', or never",
                   is_text ? format("'{}' ", value.node.text) : ""));
    };
}

YamlReader read_checkpoint(CheckpointSpec& checkpoint, const std::string& base_directory) {
    return [&checkpoint, base_directory](const YamlValue& value) {
        return read_map(value, {{"dir", read_path(checkpoint.dir, base_directory)},
                                {"every", read_every(checkpoint)},
                                {"keep", read_whole(checkpoint.keep)},
                                {"from", read_path(checkpoint.from, base_directory)}});
    };
}

YamlReader read_retry(RetrySpec& retry) {
    return [&retry](const YamlValue& value) {
        return read_map(value, {{"max", read_whole(retry.max)},
                                {"lost_after", read_duration(retry.lost_after)}});
    };
}

YamlReader read_evaluate(EvaluationSpec& evaluation) {
    return [&evaluation](const YamlValue& value) {
        return read_map(value, {{"every", read_steps(evaluation.every_steps)},
                                {"tokens", read_count(evaluation.tokens, Suffix::decimal)}});
    };
}

YamlReader read_export(ExportSpec& exports, const std::string& base_directory) {
    return [&exports, base_directory](const YamlValue& value) {
        return read_map(value, {{"huggingface", read_path(exports.huggingface, base_directory),
                                 Presence::required}});
    };
}

Status read_job(const YamlValue& value, JobSpec& spec, const std::string& base_directory) {
    return read_map(value, {{"name", read_text(spec.name), Presence::required},
                            {"model", read_model(spec.model, base_directory), Presence::required},
                            {"data", read_data(spec.data, base_directory), Presence::required},
                            {"seed", read_whole(spec.seed)},
                            {"stages", read_stages(spec.stages), Presence::required},
                            {"parallel", read_parallel(spec)},
                            {"memory", read_memory(spec.memory)},
                            {"precision", read_text(spec.precision)},
                            {"optimizer", read_optimizer(spec.optimizer)},
                            {"resources", read_resources(spec.resources)},
                            {"checkpoint", read_checkpoint(spec.checkpoint, base_directory)},
                            {"evaluate", read_evaluate(spec.evaluation)},
                            {"export", read_export(spec.exports, base_directory)},
                            {"retry", read_retry(spec.retry)},
                            {"priority", read_whole(spec.priority)}});
}

// The first step of a key path ("stages[1].batch" -> "stages", "[1].batch"; "[1].batch" -> "[1]",
// ".batch" without its point).
std::string_view take_step(std::string_view& path) {
    const std::size_t end = path.starts_with('[') ? path.find(']') + 1 : path.find_first_of(".[");
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(step.size());
    if (path.starts_with('.')) path.remove_prefix(1);
    return step;
}

const YamlNode* child(const YamlNode& node, std::string_view step) {
    if (!step.starts_with('[')) {
        const YamlEntry* entry = node.find(step);
        return entry ? &entry->value : nullptr;
    }
    std::size_t index = 0;
    std::from_chars(step.data() + 1, step.data() + step.size(), index);
    return index < node.items.size() ? &node.items[index] : nullptr;
}

// The deepest place of the file on the key path with which validate() begins its messages.
YamlPlace place_of(const YamlNode& root, std::string_view message) {
    std::string_view path = message.substr(0, message.find_first_of(": "));
    const YamlNode* node = &root;
    while (!path.empty()) {
        const YamlNode* next = child(*node, take_step(path));
        if (!next) break;
        node = next;
    }
    return node->place;
}

void set_origin(YamlNode& node, std::string_view origin) {
    node.place.origin = origin;
    for (YamlNode& item : node.items)
        set_origin(item, origin);
    for (YamlEntry& entry : node.entries) {
        entry.place.origin = origin;
        set_origin(entry.value, origin);
    }
}

// "stages.0.learning_rate=1e-3"; the value is YAML.
Status override_value(YamlNode& root, std::string_view set, std::string_view origin) {
    const std::size_t equals = set.find('=');
    if (equals == 0 || equals == std::string_view::npos)
        return invalid_argument("{}: write KEY=VALUE, such as stages.0.learning_rate=1e-3", origin);
    RM_TRY(YamlNode value, parse_yaml(set.substr(equals + 1), origin));
    set_origin(value, origin);
    const Status done = set_value(root, set.substr(0, equals), std::move(value));
    return done ? Status() : Status(invalid_argument("{}: {}", origin, done.error().message));
}

}  // namespace

Result<JobSpec> parse_job_file(std::string_view text, std::string_view file_name,
                               const std::string& base_directory,
                               std::span<const std::string> overrides) {
    RM_TRY(YamlNode root, parse_yaml(text, file_name));
    std::deque<std::string> origins;  // views of them lie in the tree
    for (const std::string& set : overrides)
        RM_RETURN_IF_ERROR(override_value(root, set, origins.emplace_back("--set " + set)));
    JobSpec spec;
    RM_RETURN_IF_ERROR(read_job({file_name, "", root, root.place}, spec, base_directory));
    if (const Status valid = validate(spec); !valid) {
        Faults faults;
        std::istringstream messages(valid.error().message);
        for (std::string message; std::getline(messages, message);)
            faults.add(error_at(file_name, place_of(root, message), message));
        return faults.all().error();
    }
    return spec;
}

}  // namespace rm
