#include "spec/machine/roots.h"

#include <algorithm>
#include <cstdlib>

namespace rm {
namespace {

constexpr std::size_t kLongestName = 63;

bool is_letter(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_name_character(char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), is_name_character);
}

bool differs_noticeably(const RootInfo& before, const RootInfo& now) {
    RootInfo same_space = now;
    same_space.free = before.free;
    return before != same_space || differs_noticeably(before.free, now.free);
}

}  // namespace

Status check_root_name(std::string_view name) {
    if (is_name(name)) return {};
    return invalid_argument(
        "'{}' is not a root name: 1 to {} lower-case letters, digits, - and _, a letter first",
        name, kLongestName);
}

std::optional<RootPath> parse_root_path(std::string_view path) {
    const std::size_t colon = path.find(':');
    if (colon == std::string_view::npos || !is_name(path.substr(0, colon))) return std::nullopt;
    std::string_view below = path.substr(colon + 1);
    below.remove_prefix(std::min(below.find_first_not_of('/'), below.size()));
    return RootPath{std::string(path.substr(0, colon)), std::string(below)};
}

std::vector<FileWanted> files_of(const JobSpec& spec, const std::string& checkpoint_dir) {
    std::vector<FileWanted> files;
    const auto add = [&](FileUse use, const std::string& path) {
        if (!path.empty()) files.push_back({use, path});
    };
    add(FileUse::model, spec.model.from);
    for (const DataSource& source : spec.data.sources)
        add(FileUse::data, source.path);
    if (spec.data.tokenizer != "bytes") add(FileUse::tokenizer, spec.data.tokenizer);
    add(FileUse::from, spec.checkpoint.from);
    add(FileUse::checkpoint, checkpoint_dir);
    add(FileUse::exports, spec.exports.huggingface);
    return files;
}

bool differs_noticeably(Bytes before, Bytes now) {
    return std::llabs(now.value - before.value) > before.value / 10;
}

bool differs_noticeably(const std::vector<RootInfo>& before, const std::vector<RootInfo>& now) {
    return !std::equal(
        before.begin(), before.end(), now.begin(), now.end(),
        [](const RootInfo& a, const RootInfo& b) { return !differs_noticeably(a, b); });
}

}  // namespace rm
