#include "engine/hf/export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <future>
#include <utility>
#include <vector>

#include "engine/checkpoint/durable_file.h"
#include "engine/hf/config.h"
#include "engine/hf/convert.h"
#include "engine/hf/directory.h"
#include "engine/model/nonfinite.h"
#include "engine/model/rope.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCopyBytes = std::int64_t{8} << 20;
// transformers asks for `format`; `writer` tells an earlier export from a user's own model.
SafetensorsMetadata export_metadata() {
    return {{"format", "pt"}, {"writer", "ringmaster"}};
}

struct Shard {
    std::string file;
    std::vector<int> parameters;
    std::vector<SafetensorsEntry> entries;
    std::int64_t bytes = 0;
};

std::vector<Shard> cut_shards(const ParameterTable& table, const HfExport& options) {
    std::vector<Shard> shards(1);
    for (std::size_t i = 0; i < table.all.size(); ++i) {
        const Parameter& parameter = table.all[i];
        const std::int64_t bytes = parameter.num_elements() * size_of(options.dtype);
        if (shards.back().bytes > 0 && shards.back().bytes + bytes > options.max_shard.value) {
            shards.emplace_back();
        }
        Shard& shard = shards.back();
        shard.parameters.push_back(static_cast<int>(i));
        shard.entries.push_back(
            {parameter.name, options.dtype, parameter.shape, shard.bytes, shard.bytes + bytes});
        shard.bytes += bytes;
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].file = shards.size() == 1
                             ? std::string(kHfSingleFile)
                             : format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    }
    return shards;
}

// Writes a block while the caller prepares the next one.
class BlockWriter {
public:
    BlockWriter(DurableFile& file, StorageType type) : file_(file), type_(type) {}

    Status write(const TensorView& block) {
        next_.resize(usize(block.num_elements() * size_of(type_)));
        block.dtype() == DType::f64 ? convert<double>(block) : convert<float>(block);
        RM_RETURN_IF_ERROR(finish());
        std::swap(next_, writing_);
        written_ = std::async(std::launch::async, [this] { return file_.write(writing_); });
        return {};
    }
    Status finish() { return written_.valid() ? written_.get() : Status(); }

private:
    template <typename T>
    void convert(const TensorView& block) {
        narrow<T>({block.as<T>(), usize(block.num_elements())}, type_, next_);
    }

    DurableFile& file_;
    const StorageType type_;
    std::vector<std::byte> next_;
    std::vector<std::byte> writing_;
    std::future<Status> written_;  // last: it ends before what it writes
};

Status check_finite(const ParameterTable& table, int parameter, std::int64_t first,
                    const TensorView& block) {
    const auto found = find_nonfinite(block);
    if (!found) return {};
    const Parameter& p = table.all[usize(parameter)];
    return make_error(ErrorCode::out_of_range,
                      "{}{} is {}: a model that is not finite is not exported", p.name,
                      coordinates_text(first + found->element, p.shape), found->value);
}

Status write_shard_file(const std::string& path, const Shard& shard, WeightSource& weights,
                        StorageType type, Faults& faults) {
    RM_TRY(DurableFile file, DurableFile::create(path, faults));
    const std::string header = encode_safetensors_header(shard.entries, export_metadata());
    RM_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(header))));
    BlockWriter writer(file, type);
    for (const int parameter : shard.parameters) {
        RM_RETURN_IF_ERROR(
            weights.read(parameter, [&](std::int64_t first, const TensorView& block) -> Status {
                RM_RETURN_IF_ERROR(check_finite(weights.table(), parameter, first, block));
                return writer.write(block);
            }));
    }
    RM_RETURN_IF_ERROR(writer.finish());
    return file.finish();
}

Status write_weights(const std::string& dir, const HfExport& options, WeightSource& weights,
                     Faults& faults) {
    const std::vector<Shard> shards = cut_shards(weights.table(), options);
    HfWeightMap weight_map;
    std::int64_t total = 0;
    for (const Shard& shard : shards) {
        RM_RETURN_IF_ERROR(
            write_shard_file(dir + "/" + shard.file, shard, weights, options.dtype, faults));
        for (const SafetensorsEntry& entry : shard.entries)
            weight_map[entry.name] = shard.file;
        total += shard.bytes;
    }
    if (shards.size() == 1) return {};
    return write_durable_file(format("{}/{}", dir, kHfIndexFile),
                              encode_hf_index(weight_map, total), faults);
}

bool is_carried(const std::string& name) {
    constexpr std::array<std::string_view, 17> kWeights = {
        ".safetensors", ".index.json", ".bin", ".pt",     ".pth",  ".gguf",
        ".ggml",        ".msgpack",    ".h5",  ".onnx",   ".ckpt", ".onnx_data",
        ".tflite",      ".ot",         ".npz", ".pickle", ".pkl"};
    if (name == kHfConfigFile || name.starts_with('.')) return false;
    return std::none_of(kWeights.begin(), kWeights.end(),
                        [&](std::string_view suffix) { return name.ends_with(suffix); });
}

Status copy_file(const std::string& from, const std::string& to, Faults& faults) {
    RM_TRY(const FileReader reader, FileReader::open(from));
    RM_TRY(DurableFile writer, DurableFile::create(to, faults));
    std::vector<std::byte> block;
    for (std::int64_t at = 0; at < reader.size(); at += static_cast<std::int64_t>(block.size())) {
        block.resize(usize(std::min(kCopyBytes, reader.size() - at)));
        RM_RETURN_IF_ERROR(reader.read(at, block));
        RM_RETURN_IF_ERROR(writer.write(block));
    }
    return writer.finish();
}

Status carry_files(const std::string& source, const std::string& dir, Faults& faults) {
    RM_TRY(const std::vector<std::string> names, names_in(source));
    for (const std::string& name : names) {
        const std::string from = source + "/" + name;
        std::error_code unreadable;
        if (!is_carried(name) || !fs::is_regular_file(from, unreadable)) continue;
        RM_RETURN_IF_ERROR(copy_file(from, dir + "/" + name, faults));
    }
    return {};
}

// Replaces all of the source's tokenizer: its configuration may not fit another one.
Status carry_tokenizer(const fs::path& tokenizer, const std::string& dir, Faults& faults) {
    if (tokenizer.empty() || tokenizer == "bytes") return {};
    std::error_code ignored;
    const bool is_directory = fs::is_directory(tokenizer, ignored);
    const fs::path folder = is_directory ? tokenizer : tokenizer.parent_path();
    for (const std::string name :
         {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"}) {
        fs::remove(fs::path(dir) / name, ignored);
        const bool is_model = name == "tokenizer.json" && !is_directory;
        const fs::path from = is_model ? tokenizer : folder / name;
        if (!fs::is_regular_file(from, ignored)) continue;
        RM_RETURN_IF_ERROR(copy_file(from.string(), dir + "/" + name, faults));
    }
    return {};
}

// With this configuration, old and new transformers must both compute the model as trained.
ModelConfig exported_model(const HfExport& options, ModelConfig model) {
    RopeConfig& rope = model.rope;
    if (rope.type == RopeType::yarn || rope.type == RopeType::longrope) {
        rope.attention_factor =
            rope_frequencies(rope, model.head_dim, options.context).attention_factor;
    }
    // Dynamic scaling computes with this length; the others only tell users the supported one.
    model.max_positions = rope.type == RopeType::dynamic
                              ? rope.original_context
                              : std::max(model.max_positions, options.context);
    return model;
}

Status write_config(const std::string& dir, const HfExport& options, const ModelConfig& model,
                    Faults& faults) {
    nlohmann::json base;
    if (!options.source.empty()) {
        RM_TRY(HfConfig source, read_hf_config(options.source));
        base = std::move(source.text);
    }
    const std::string_view dtype = options.dtype == StorageType::bf16 ? "bfloat16" : "float32";
    const std::string text = make_hf_config(exported_model(options, model), base, dtype).dump(2);
    return write_durable_file(format("{}/{}", dir, kHfConfigFile), text + "\n", faults);
}

// Judges by the metadata of the directory's first weight file.
bool is_earlier_export(const fs::path& path) {
    const auto names = names_in(path.string());
    if (!names) return false;
    const auto first = std::ranges::find_if(*names, [](const std::string& name) {
        return name == kHfSingleFile || name.starts_with("model-00001-of-");
    });
    if (first == names->end()) return false;
    const auto header = read_safetensors_header((path / *first).string());
    return header && header->metadata == export_metadata();
}

Status check_target(const HfExport& options, const fs::path& target) {
    std::error_code ignored;
    if (!options.source.empty() && fs::equivalent(options.source, target, ignored)) {
        return invalid_argument(
            "export to {}: the model started from there; name another directory", options.path);
    }
    if (!fs::exists(target, ignored)) return {};
    if (fs::is_directory(target, ignored) &&
        (fs::is_empty(target, ignored) || is_earlier_export(target))) {
        return {};
    }
    return make_error(ErrorCode::already_exists,
                      "export to {}: something is there that is not an earlier export; name a new "
                      "directory or remove it",
                      options.path);
}

// An attempt writes its export to this prefix plus its epoch, then renames it into place.
std::string aside_prefix(const fs::path& target) {
    return format("{}/.tmp-export-{}-e", target.parent_path().string(), target.filename().string());
}

// Removes the directories that dead attempts left beside `target`.
Status remove_left_aside(const fs::path& target, Epoch below, Faults& faults) {
    const std::string prefix = aside_prefix(target);
    const auto names = names_in(target.parent_path().string());
    if (!names) return {};
    for (const std::string& name : *names) {
        const std::string path = (target.parent_path() / name).string();
        if (!path.starts_with(prefix)) continue;
        std::int64_t epoch = 0;
        const char* number = path.data() + prefix.size();
        const auto [rest, failure] = std::from_chars(number, path.data() + path.size(), epoch);
        if (failure == std::errc() && epoch < below.value)
            RM_RETURN_IF_ERROR(remove_tree(path, faults));
    }
    return {};
}

// Makes an empty directory beside the target.
Result<StagedExport> make_aside(const HfExport& options, Faults& faults) {
    fs::path target = fs::absolute(options.path).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();  // a slash at the end
    RM_RETURN_IF_ERROR(check_target(options, target));
    const std::string temporary = aside_prefix(target) + format("{}", options.epoch);
    RM_RETURN_IF_ERROR(make_directories(target.parent_path().string()));
    RM_RETURN_IF_ERROR(remove_tree(temporary, faults));
    RM_RETURN_IF_ERROR(make_directories(temporary));
    return StagedExport{temporary, target.string()};
}

Status write_export(const std::string& dir, const HfExport& options, const ModelConfig& model,
                    WeightSource& weights, Faults& faults) {
    RM_RETURN_IF_ERROR(write_config(dir, options, model, faults));
    if (!options.source.empty()) {
        RM_RETURN_IF_ERROR(carry_files(options.source, dir, faults));
    }
    RM_RETURN_IF_ERROR(carry_tokenizer(options.tokenizer, dir, faults));
    RM_RETURN_IF_ERROR(write_weights(dir, options, weights, faults));
    return sync_directory(dir, faults);
}

}  // namespace

Status try_hf_place(const HfExport& options, Faults& faults) {
    RM_TRY(const StagedExport tried, make_aside(options, faults));
    return discard_hf(tried, faults);
}

Result<StagedExport> stage_hf(const HfExport& options, const ModelConfig& model,
                              WeightSource& weights, Faults& faults) {
    RM_CHECK(options.dtype == StorageType::bf16 || options.dtype == StorageType::f32,
             "export as {}", to_string(options.dtype));
    RM_TRY(StagedExport staged, make_aside(options, faults));
    const Status written = write_export(staged.temporary, options, model, weights, faults);
    if (written) return staged;
    // Frees the space, as the disk may be full. The next export removes what this one cannot.
    const Status gone = discard_hf(staged, faults);
    if (gone) return written.error();
    return make_error(written.error().code, "{}; {}", written.error().message,
                      gone.error().message);
}

Status publish_hf(const StagedExport& staged, Epoch epoch, Faults& faults) {
    RM_RETURN_IF_ERROR(replace_directory(staged.temporary, staged.target, faults));
    RM_RETURN_IF_ERROR(remove_left_aside(staged.target, epoch, faults));
    return sync_directory(fs::path(staged.target).parent_path().string(), faults);
}

Status discard_hf(const StagedExport& staged, Faults& faults) {
    return remove_tree(staged.temporary, faults);
}

}  // namespace rm
