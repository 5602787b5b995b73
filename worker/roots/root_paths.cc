#include "worker/roots/root_paths.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace rm {
namespace {

namespace fs = std::filesystem;

bool lies_below(const std::string& path, const std::string& top) {
    if (path == top || top == "/") return true;
    return path.starts_with(top) && path[top.size()] == '/';
}

std::string list_of(const std::vector<DeclaredRoot>& roots) {
    std::string text;
    for (const DeclaredRoot& root : roots)
        text += (text.empty() ? "" : ", ") + root.name + "=" + root.path;
    return text;
}

// The path of the job with the root's directory in place of the root's name.
Result<fs::path> spelled_out(const std::vector<DeclaredRoot>& roots, const std::string& path) {
    if (path.starts_with('/')) return fs::path(path);
    const auto below = parse_root_path(path);
    if (!below) return invalid_argument("is neither absolute nor ROOT:PATH");
    const auto root = std::find_if(roots.begin(), roots.end(), [&](const DeclaredRoot& declared) {
        return declared.name == below->root;
    });
    if (root != roots.end()) return fs::path(root->path) / below->below;
    return make_error(ErrorCode::not_found, "there is no root '{}' here, but {}", below->root,
                      list_of(roots));
}

// The part of a path that exists, every link resolved, and the rest.
struct Split {
    fs::path exists;
    fs::path rest;
};
Result<Split> split(fs::path path) {
    std::error_code failed;
    Split split;
    while (path.has_relative_path() && !fs::exists(fs::symlink_status(path, failed))) {
        if (path.filename() == "..") return invalid_argument("has .. below what is not there");
        if (!path.filename().empty()) split.rest = path.filename() / split.rest;
        path = path.parent_path();
    }
    split.exists = fs::canonical(path, failed);
    if (failed) {
        return make_error(ErrorCode::not_found, "{}: {}", path.string(), failed.message());
    }
    return split;
}

std::string joined(const fs::path& front, const fs::path& rest) {
    std::string text = rest.empty() ? front.string() : (front / rest).string();
    while (text.size() > 1 && text.back() == '/')
        text.pop_back();
    return text;
}

}  // namespace

Result<DeclaredRoot> parse_declared_root(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
        return invalid_argument("'{}' is not NAME=PATH, as models=/models", text);
    }
    RM_RETURN_IF_ERROR(check_root_name(text.substr(0, equals)));
    const std::string_view path = text.substr(equals + 1);
    if (!path.starts_with('/')) return invalid_argument("'{}' must be an absolute path", path);
    return DeclaredRoot{std::string(text.substr(0, equals)), std::string(path)};
}

Result<std::vector<DeclaredRoot>> parse_declared_roots(const std::vector<std::string>& texts) {
    std::vector<DeclaredRoot> roots;
    std::set<std::string> names;
    for (const std::string& text : texts) {
        RM_TRY(DeclaredRoot root, parse_declared_root(text));
        if (!names.insert(root.name).second) {
            return invalid_argument("root '{}' is declared twice", root.name);
        }
        roots.push_back(std::move(root));
    }
    return roots;
}

Result<FoundPath> find_path(const std::vector<DeclaredRoot>& roots, const std::string& path) {
    RM_TRY(const fs::path full, spelled_out(roots, path));
    RM_TRY(const Split parts, split(full));
    const std::string real = joined(parts.exists, parts.rest);
    FoundPath found;
    for (const DeclaredRoot& root : roots) {
        std::error_code failed;
        const std::string top = fs::canonical(root.path, failed).string();
        if (failed || !lies_below(real, top) || top.size() < found.top.size()) continue;
        found.root = root.name;
        found.top = top;
    }
    if (found.top.empty()) {
        const std::string leads = real == full.string() ? "" : format("leads to {}, which ", real);
        return make_error(ErrorCode::permission_denied, "{}lies below no root of this node ({})",
                          leads, list_of(roots));
    }
    const std::size_t skip = found.top == "/" ? 1 : found.top.size() + 1;
    found.below = real.size() < skip ? "" : real.substr(skip);
    found.exists = parts.exists.string();
    return found;
}

Result<LaunchAttempt> find_paths(const std::vector<DeclaredRoot>& roots, LaunchAttempt launch) {
    if (roots.empty()) return launch;
    JobSpec& spec = launch.spec;
    std::vector<std::pair<FileUse, std::string*>> paths = {
        {FileUse::model, &spec.model.from},
        {FileUse::from, &spec.checkpoint.from},
        {FileUse::exports, &spec.exports.huggingface},
        {FileUse::checkpoint, &spec.checkpoint.dir},
        {FileUse::checkpoint, &launch.checkpoint_dir}};
    for (DataSource& source : spec.data.sources)
        paths.emplace_back(FileUse::data, &source.path);
    if (spec.data.tokenizer != "bytes")
        paths.emplace_back(FileUse::tokenizer, &spec.data.tokenizer);
    for (const auto& [use, path] : paths) {
        if (path->empty()) continue;
        const Result<FoundPath> found = find_path(roots, *path);
        if (!found) {
            return make_error(found.error().code, "{} {}: {}", to_string(use), *path,
                              found.error().message);
        }
        *path = found->path();
    }
    return launch;
}

}  // namespace rm
