#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/roots.h"
#include "base/session.h"

namespace rm {

// `--root NAME=PATH` of a worker. None at all: every path is allowed.
struct DeclaredRoot {
    std::string name;
    std::string path;  // absolute
    bool operator==(const DeclaredRoot&) const = default;
};
Result<DeclaredRoot> parse_declared_root(std::string_view text);
// No name twice.
Result<std::vector<DeclaredRoot>> parse_declared_roots(const std::vector<std::string>& texts);

// A job's path on this node, every link resolved. What is yet to be made below `exists` has no
// links and no `..`.
struct FoundPath {
    std::string root;    // the name of the innermost root it lies below
    std::string top;     // that root's directory, resolved
    std::string below;   // from there; empty: the root itself
    std::string exists;  // as much of it as there is
    std::string path() const { return below.empty() ? top : top + "/" + below; }
    bool is_there() const { return exists == path(); }
};
// PERMISSION_DENIED when it leads below no root; NOT_FOUND for a root that is not declared; errors
// do not repeat the path.
Result<FoundPath> find_path(const std::vector<DeclaredRoot>& roots, const std::string& path);

// The launch with every path of the job as it is on this node. Called before anything is started,
// whatever was checked earlier: nothing of a job reads or writes beyond the roots by these paths.
Result<LaunchAttempt> find_paths(const std::vector<DeclaredRoot>& roots, LaunchAttempt launch);

}  // namespace rm
