#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/machine/roots.h"
#include "spec/session.h"

namespace rm {

// `--root NAME=PATH` of a worker. Without any, every path is allowed.
struct DeclaredRoot {
    std::string name;
    std::string path;  // absolute
    bool operator==(const DeclaredRoot&) const = default;
};
Result<DeclaredRoot> parse_declared_root(std::string_view text);
// Names must be unique.
Result<std::vector<DeclaredRoot>> parse_declared_roots(const std::vector<std::string>& texts);

// A job's path on this node, every link resolved. The part below `exists` has yet to be created; it
// has no links and no `..`.
struct FoundPath {
    std::string root;    // the name of the innermost root it lies below
    std::string top;     // that root's directory, resolved
    std::string below;   // from there; empty: the root itself
    std::string exists;  // the part of it that exists
    std::string path() const { return below.empty() ? top : top + "/" + below; }
    bool is_there() const { return exists == path(); }
};
// PERMISSION_DENIED when the path is below no root; NOT_FOUND for a root that is not declared;
// errors do not repeat the path.
Result<FoundPath> find_path(const std::vector<DeclaredRoot>& roots, const std::string& path);

// The launch with every path of the job as it is on this node. Called before the worker starts
// anything, regardless of earlier checks: by these paths, a job reads and writes only below the
// roots.
Result<LaunchAttempt> find_paths(const std::vector<DeclaredRoot>& roots, LaunchAttempt launch);

}  // namespace rm
