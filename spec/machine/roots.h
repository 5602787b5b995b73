#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "spec/job_spec.h"

// Roots: directories that an admin declares by name on a worker and below which job paths must lie
// (docs/decisions/0011); with the controller's questions about them and the workers' answers.
namespace rm {

// A declared root as its worker finds it.
struct RootInfo {
    std::string name;
    std::string path;     // as declared
    std::string mount;    // device and inode: changes when something else is mounted there
    std::string problem;  // why it cannot be used, as the system says; empty: it can
    bool writable = false;
    Bytes free;
    Bytes write_per_second;  // measured once; 0: unknown
    bool operator==(const RootInfo&) const = default;

    bool usable() const { return problem.empty(); }
};

// 1 to 63 lower-case letters, digits, '-' and '_', a letter first.
Status check_root_name(std::string_view name);

// "models:llama/7b": a path below the root of that name, wherever a node has it. nullopt if `path`
// does not have this form; `below` may be empty.
struct RootPath {
    std::string root;
    std::string below;
};
std::optional<RootPath> parse_root_path(std::string_view path);

// How a job uses a path.
enum class FileUse { model, data, tokenizer, checkpoint, from, exports };
// The words are keys of the job file.
constexpr auto vocabulary_of(FileUse) {
    return vocabulary<FileUse>("use", {{FileUse::model, "model.from"},
                                       {FileUse::data, "data.path"},
                                       {FileUse::tokenizer, "data.tokenizer"},
                                       {FileUse::checkpoint, "checkpoint.dir"},
                                       {FileUse::from, "checkpoint.from"},
                                       {FileUse::exports, "export.huggingface"}});
}
constexpr bool is_written(FileUse use) {
    return use == FileUse::checkpoint || use == FileUse::exports;
}

struct FileWanted {
    FileUse use = FileUse::data;
    std::string path;  // as the job writes it
    bool operator==(const FileWanted&) const = default;
};
// The job's files in a fixed order. `checkpoint_dir` replaces the spec's.
std::vector<FileWanted> files_of(const JobSpec& spec, const std::string& checkpoint_dir);

// One node's answer about one of these files.
struct FileFacts {
    FileUse use = FileUse::data;
    std::string path;             // as in the question
    std::string problem;          // why it cannot be used here; empty: it can
    std::string root;             // the name of the root it lies below
    std::string below;            // its path from there, links resolved
    std::string index;            // hash of names, sizes and first bytes, if it is read
    std::int64_t parameters = 0;  // of a model
    Bytes free;                   // where it would be written
    bool operator==(const FileFacts&) const = default;
};

// ---- controller -> worker

// The worker answers later with FilesChecked of the same key.
struct CheckFiles {
    std::string key;
    std::vector<FileWanted> files;
    bool operator==(const CheckFiles&) const = default;
};
// Tests whether a root is one directory on several nodes: one node writes a file named after the
// nonce, the others look for it, the first removes it.
enum class ProbeStep { write, look, remove };
struct ProbeRoot {
    std::string root;
    std::string nonce;
    ProbeStep step = ProbeStep::write;
    bool operator==(const ProbeRoot&) const = default;
};

// ---- worker -> controller

// All roots; sent when one appears or disappears, or its free space changes by a tenth.
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

// Whether a change is large enough to report to the controller.
bool differs_noticeably(const std::vector<RootInfo>& before, const std::vector<RootInfo>& now);
bool differs_noticeably(Bytes before, Bytes now);

}  // namespace rm
