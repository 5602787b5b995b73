#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/job_spec.h"
#include "base/result.h"
#include "base/units.h"

// Roots: directories that an admin declares by name on a worker and below which job paths must lie
// (docs/decisions/0011). What the controller asks about them and what workers answer.
namespace rm {

// A declared root as its worker finds it.
struct RootInfo {
    std::string name;
    std::string path;     // as declared
    std::string mount;    // device and inode: changes when something else is mounted there
    std::string problem;  // why it cannot be used, as "No such file or directory"; empty: it can
    bool writable = false;
    Bytes free;
    Bytes write_per_second;  // measured once; 0: unknown
    bool operator==(const RootInfo&) const = default;

    bool usable() const { return problem.empty(); }
};

// 1 to 63 lower-case letters, digits, '-' and '_', a letter first.
Status check_root_name(std::string_view name);

// "models:llama/7b": a path below the root of that name, wherever a node has it. Nothing for what
// is no such path; `below` may be empty.
struct RootPath {
    std::string root;
    std::string below;
};
std::optional<RootPath> parse_root_path(std::string_view path);

// What a job does with a path.
enum class FileUse { model, data, tokenizer, checkpoint, from, exports };
std::string_view to_string(FileUse use);  // the key of the job file
constexpr bool is_written(FileUse use) {
    return use == FileUse::checkpoint || use == FileUse::exports;
}

struct FileWanted {
    FileUse use = FileUse::data;
    std::string path;  // as the job says it
    bool operator==(const FileWanted&) const = default;
};
// In a fixed order. `checkpoint_dir` replaces that of the spec.
std::vector<FileWanted> files_of(const JobSpec& spec, const std::string& checkpoint_dir);

// What one node says about one of them.
struct FileFacts {
    FileUse use = FileUse::data;
    std::string path;             // as it was asked for
    std::string problem;          // why it cannot be used here; empty: it can
    std::string root;             // the name of the root it lies below
    std::string below;            // its path from there, links resolved
    std::string index;            // of what is read: a hash of names, sizes and beginnings
    std::int64_t parameters = 0;  // of a model
    Bytes free;                   // where it would be written
    bool operator==(const FileFacts&) const = default;
};

// ---- controller -> worker

// Answered with FilesChecked of the same key, some time later.
struct CheckFiles {
    std::string key;
    std::vector<FileWanted> files;
    bool operator==(const CheckFiles&) const = default;
};
// Whether a root is one directory on several nodes: one writes a file of this name, the others
// look, the first removes it.
enum class ProbeStep { write, look, remove };
struct ProbeRoot {
    std::string root;
    std::string nonce;
    ProbeStep step = ProbeStep::write;
    bool operator==(const ProbeRoot&) const = default;
};

// ---- worker -> controller

// All roots, when one has changed: comes or goes, or its free space by a tenth.
struct RootsReport {
    std::vector<RootInfo> roots;
    bool operator==(const RootsReport&) const = default;
};
struct FilesChecked {
    std::string key;
    std::vector<FileFacts> files;
    bool operator==(const FilesChecked&) const = default;
};
struct RootProbed {
    std::string root;
    std::string nonce;
    ProbeStep step = ProbeStep::write;
    bool found = false;  // look
    std::string problem;
    bool operator==(const RootProbed&) const = default;
};

// Whether the controller should hear of it.
bool differs_noticeably(const std::vector<RootInfo>& before, const std::vector<RootInfo>& now);
bool differs_noticeably(Bytes before, Bytes now);

}  // namespace rm
