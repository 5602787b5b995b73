#include "engine/hf/directory.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "engine/hf/config.h"
#include "engine/hf/convert.h"
#include "engine/model/nonfinite.h"
#include "kernels/host_blocks.h"

namespace rm {
namespace {

constexpr std::int64_t kMaxTextBytes = 64 << 20;
constexpr std::int64_t kBlockElements = 1 << 18;

Result<std::string> read_text(const std::string& path) {
    RM_TRY(const FileReader file, FileReader::open(path));
    if (file.size() > kMaxTextBytes) {
        return data_loss("{} is {} bytes long; at most {} are read", path, file.size(),
                         kMaxTextBytes);
    }
    std::string text(usize(file.size()), ' ');
    RM_RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(text))));
    return text;
}

// "3 tensors are missing: a, b, c"
std::string names_message(const std::vector<std::string>& names, std::string_view what) {
    constexpr std::size_t kMost = 5;
    std::vector<std::string> shown;
    for (const std::string& name : std::span(names).first(std::min(names.size(), kMost)))
        shown.push_back(shown_text(name));
    if (names.size() > kMost) shown.emplace_back("...");
    return format("{} {} {}: {}", counted(names.size(), "tensor"), names.size() == 1 ? "is" : "are",
                  what, join(shown));
}

// Whether old transformers saved it as a buffer: computed from the configuration, not a weight.
bool is_old_buffer(std::string_view name) {
    return name.starts_with("model.layers.") && name.ends_with(".self_attn.rotary_emb.inv_freq");
}

bool is_readable(StorageType type) {
    return type == StorageType::f32 || type == StorageType::f16 || type == StorageType::bf16;
}

Status check_tensor(const SafetensorsFile& file, const SafetensorsEntry& entry,
                    const std::vector<std::int64_t>& shape) {
    if (entry.shape != shape) {
        return invalid_argument("{}: tensor {} is {}, the configuration makes it {}", file.path(),
                                shown_text(entry.name), shape_string(entry.shape),
                                shape_string(shape));
    }
    if (is_readable(entry.type)) return {};
    return make_error(ErrorCode::unimplemented, "{}: tensor {} is {}; F32, F16 or BF16 are read",
                      file.path(), shown_text(entry.name), to_string(entry.type));
}

template <typename T>
Status read_elements(const SafetensorsFile& file, const SafetensorsEntry& entry, std::int64_t first,
                     std::span<T> out) {
    const std::int64_t size = size_of(entry.type);
    std::vector<std::byte> block;
    while (!out.empty()) {
        const auto count = std::min<std::size_t>(out.size(), kBlockElements);
        block.resize(count * usize(size));
        RM_RETURN_IF_ERROR(file.read(entry, first * size, block));
        widen<T>(entry.type, block, out.first(count));
        out = out.subspan(count);
        first += static_cast<std::int64_t>(count);
    }
    return {};
}

// Reads the elements of the parameter's part from `first` on; the file holds the whole tensor.
Status read_part(const HfDirectory& directory, const Parameter& p, std::int64_t first,
                 const TensorView& out) {
    for (std::int64_t done = 0; done < out.num_elements();) {
        const std::int64_t at = first + done;
        const std::int64_t rest = out.num_elements() - done;
        const std::int64_t row = p.cut == Cut::columns ? p.part_shape[1] : 0;
        const std::int64_t count = row == 0 ? rest : std::min(rest, row - at % row);
        const TensorView part = out.rows(done, count);
        RM_RETURN_IF_ERROR(directory.read(p.name, p.whole_index(at), part));
        if (const auto found = find_nonfinite(part)) {
            return data_loss("{}: {}{} is {}; a model can only be trained on from finite weights",
                             directory.path(), p.name,
                             coordinates_text(p.whole_index(at + found->element), p.shape),
                             found->value);
        }
        done += count;
    }
    return {};
}

Status check_tied_head(const HfDirectory& directory, const Parameter& embedding) {
    std::vector<float> expected(kBlockElements), head(kBlockElements);
    for (std::int64_t at = 0; at < embedding.num_elements(); at += kBlockElements) {
        const std::int64_t count = std::min(kBlockElements, embedding.num_elements() - at);
        const TensorView a(expected.data(), DType::f32, {count});
        const TensorView b(head.data(), DType::f32, {count});
        RM_RETURN_IF_ERROR(directory.read(embedding.name, at, a));
        RM_RETURN_IF_ERROR(directory.read(std::string(kHfHeadName), at, b));
        for (std::int64_t i = 0; i < count; ++i) {
            const auto n = usize(i);
            if (std::memcmp(&head[n], &expected[n], sizeof(float)) == 0) continue;
            return data_loss("{}: tie_word_embeddings is true, but {} differs from {} in row {}",
                             directory.path(), kHfHeadName, embedding.name,
                             (at + i) / embedding.shape[1]);
        }
    }
    return {};
}

}  // namespace

Result<HfConfig> read_hf_config(const std::string& directory) {
    const std::string path = format("{}/{}", directory, kHfConfigFile);
    RM_TRY(const std::string text, read_text(path));
    return within(path, parse_hf_config(text));
}

Status HfDirectory::add_file(const std::string& name) {
    RM_TRY(SafetensorsFile file, SafetensorsFile::open(path_ + "/" + name));
    for (const SafetensorsEntry& entry : file.header().entries) {
        if (is_old_buffer(entry.name)) continue;
        const auto [other, is_new] = file_of_.emplace(entry.name, files_.size());
        if (is_new) continue;
        return data_loss("{}: tensor {} is in {} as well", file.path(), shown_text(entry.name),
                         files_[other->second].path());
    }
    files_.push_back(std::move(file));
    return {};
}

// Checks that each tensor is where the index says, and that the index lists each.
Status HfDirectory::check_index(const std::map<std::string, std::string>& weight_map) const {
    const std::string index = format("{}/{}", path_, kHfIndexFile);
    for (const auto& [tensor, file] : weight_map) {
        if (is_old_buffer(tensor)) continue;
        const auto found = file_of_.find(tensor);
        const std::string path = path_ + "/" + file;
        if (found != file_of_.end() && files_[found->second].path() == path) continue;
        return data_loss("{}: tensor {} is not in {}", index, shown_text(tensor), file);
    }
    for (const auto& [tensor, file] : file_of_) {
        if (weight_map.count(tensor) != 0) continue;
        return data_loss("{}: tensor {} is not in {}", files_[file].path(), shown_text(tensor),
                         kHfIndexFile);
    }
    return {};
}

Status HfDirectory::open_files() {
    const std::string single = format("{}/{}", path_, kHfSingleFile);
    const std::string index = format("{}/{}", path_, kHfIndexFile);
    const bool has_single = std::filesystem::exists(single);
    const bool has_index = std::filesystem::exists(index);
    if (has_single && has_index) {
        return invalid_argument("{}: {} and {} are both there; keep one", path_, kHfSingleFile,
                                kHfIndexFile);
    }
    if (has_single) return add_file(std::string(kHfSingleFile));
    if (!has_index) {
        return make_error(ErrorCode::not_found,
                          "{}: neither {} nor {} is there; other weight files are not read", path_,
                          kHfSingleFile, kHfIndexFile);
    }
    RM_TRY(const std::string text, read_text(index));
    RM_TRY(const HfWeightMap weight_map, within(index, parse_hf_index(text)));
    std::set<std::string> names;
    for (const auto& [tensor, file] : weight_map)
        names.insert(file);
    for (const std::string& name : names)
        RM_RETURN_IF_ERROR(add_file(name));
    return check_index(weight_map);
}

Status HfDirectory::check_names(const ParameterTable& table) const {
    std::set<std::string> expected;
    std::vector<std::string> missing, extra;
    for (const Parameter& parameter : table.all) {
        expected.insert(parameter.name);
        if (!has(parameter.name)) missing.push_back(parameter.name);
    }
    // The files may store a tied head too; loading compares it with the embedding.
    expected.emplace(kHfHeadName);
    for (const auto& [tensor, file] : file_of_) {
        if (expected.count(tensor) == 0) extra.push_back(tensor);
    }
    if (!missing.empty()) {
        return data_loss("{}: {}", path_, names_message(missing, "missing"));
    }
    if (extra.empty()) return {};
    return invalid_argument("{}: {}", path_, names_message(extra, "no part of a Llama"));
}

Status HfDirectory::check_shapes(const ParameterTable& table) const {
    const auto check = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
        const SafetensorsFile& file = files_[file_of_.at(name)];
        return check_tensor(file, *file.find(name), shape);
    };
    for (const Parameter& parameter : table.all) {
        RM_RETURN_IF_ERROR(check(parameter.name, parameter.shape));
    }
    const std::string head(kHfHeadName);
    if (!has(head)) return {};
    return check(head, table.all[usize(table.head)].shape);
}

Result<HfDirectory> HfDirectory::open(const std::string& path) {
    HfDirectory directory;
    directory.path_ = path;
    RM_TRY(directory.config_, read_hf_config(path));
    RM_RETURN_IF_ERROR(directory.open_files());
    const ParameterTable table = make_parameters(directory.model());
    RM_RETURN_IF_ERROR(directory.check_names(table));
    RM_RETURN_IF_ERROR(directory.check_shapes(table));
    return directory;
}

Status HfDirectory::read(const std::string& tensor, std::int64_t first,
                         const TensorView& out) const {
    const auto found = file_of_.find(tensor);
    RM_CHECK(found != file_of_.end(), "{} has no tensor {}", path_, tensor);
    const SafetensorsFile& file = files_[found->second];
    const SafetensorsEntry& entry = *file.find(tensor);
    const auto count = usize(out.num_elements());
    if (out.dtype() == DType::f64) {
        return read_elements(file, entry, first, std::span(out.as<double>(), count));
    }
    return read_elements(file, entry, first, std::span(out.as<float>(), count));
}

Status load_hf_weights(const HfDirectory& directory, WeightState& weights, Activity* activity) {
    HostBlocks blocks(weights.device());
    for (const StatePiece& piece : weights.held()) {
        const Parameter& p = weights.parameter(piece.parameter);
        RM_RETURN_IF_ERROR(
            blocks.write(piece.weight, [&](std::int64_t first, const TensorView& block) -> Status {
                if (activity != nullptr) {
                    RM_RETURN_IF_ERROR(activity->check());
                    activity->done += block.num_bytes().value;
                }
                return read_part(directory, p, piece.first + first, block);
            }));
    }
    weights.zero_moments();
    if (!directory.model().tied_head || !directory.has(std::string(kHfHeadName))) return {};
    if (weights.share().world_rank != 0) return {};
    return check_tied_head(directory, weights.parameter(weights.table().embedding));
}

}  // namespace rm
