#include "cli/input/job_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/hf/config.h"
#include "service/job_file/job_file.h"
#include "spec/machine/roots.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

// False if this user cannot inspect the path: the workers' user may have access.
bool is_missing(const fs::path& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    return status.type() == fs::file_type::not_found;
}

bool is_checked(const std::string& path) {
    return !path.empty() && path.front() == '/';
}

class Inputs {
public:
    Inputs(const Workers& workers, std::string directory)
        : here_(workers.are == WorkersAre::here),
          devices_(workers.devices),
          directory_(std::move(directory)) {}

    Status check(const JobSpec& spec) const {
        RM_RETURN_IF_ERROR(check_model(spec.model.from));
        RM_RETURN_IF_ERROR(check_size(spec));
        for (const DataSource& source : spec.data.sources)
            RM_RETURN_IF_ERROR(check_data(source.path));
        RM_RETURN_IF_ERROR(check_tokenizer(spec.data.tokenizer));
        RM_RETURN_IF_ERROR(check_there("checkpoint.from", spec.checkpoint.from));
        RM_RETURN_IF_ERROR(check_place("checkpoint.dir", spec.checkpoint.dir));
        return check_place("export.huggingface", spec.exports.huggingface);
    }

private:
    // "meta-llama/Llama-3.1-8B" or "gpt2", as the job file has it; empty: it is a path.
    std::string hub_name(const std::string& path, std::ptrdiff_t most_parts) const {
        const fs::path relative = fs::path(path).lexically_relative(directory_);
        const auto parts = std::distance(relative.begin(), relative.end());
        const bool is_name = !relative.empty() && *relative.begin() != ".." && parts <= most_parts;
        // If one of its folders exists here, it is a mistyped path.
        if (!is_name || (parts > 1 && !is_missing(fs::path(path).parent_path()))) return "";
        return relative.string();
    }

    Status check_model(const std::string& path) const {
        if (!is_checked(path)) return {};
        const std::string name = is_missing(path) ? hub_name(path, 2) : "";
        if (name.find('/') != std::string::npos) {
            return invalid_argument(
                "model.from: '{}' is not a directory. If it is a name on the Hugging Face Hub: "
                "nothing "
                "is downloaded; fetch it with `huggingface-cli download {} --local-dir DIR` and "
                "give DIR",
                name, name);
        }
        RM_RETURN_IF_ERROR(check_there("model.from", path));
        if (!here_ || !is_missing(fs::path(path) / "config.json")) return {};
        return invalid_argument(
            "model.from: {} has no config.json; name a directory in Hugging Face's format", path);
    }

    // For a directory that this machine cannot read, the ranks report the error.
    Status check_size(const JobSpec& spec) const {
        if (!here_ || !is_checked(spec.model.from)) return {};
        std::ifstream file(fs::path(spec.model.from) / "config.json", std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!file) return {};
        const auto config = parse_hf_config(text);
        if (!config) {
            return invalid_argument("model.from: {}/config.json: {}", spec.model.from,
                                    config.error().message);
        }
        return check_state_fits(spec, config->model.num_parameters(), devices_);
    }

    Status check_data(const std::string& path) const {
        // A Megatron set is named by the common prefix of its two files.
        if (is_checked(path) && !is_missing(path + ".idx")) return {};
        return check_there("data.path", path);
    }

    Status check_tokenizer(const std::string& path) const {
        if (!is_checked(path)) return {};
        const std::string name = is_missing(path) ? hub_name(path, 2) : "";
        if (name.empty()) return check_there("data.tokenizer", path);
        if (!here_ && fs::path(name).has_extension()) return {};
        return invalid_argument(
            "data.tokenizer: '{}' is neither `bytes` nor a tokenizer.json or a directory with one. "
            "If it is a name on the Hugging Face Hub: nothing is downloaded; fetch its "
            "tokenizer.json and give its path",
            name);
    }

    Status check_there(std::string_view key, const std::string& path) const {
        if (!here_ || !is_checked(path) || !is_missing(path)) return {};
        return invalid_argument("{}: {} does not exist on this machine, where all workers run", key,
                                path);
    }

    // A path that will be made needs a directory above it.
    Status check_place(std::string_view key, const std::string& path) const {
        if (!here_ || !is_checked(path)) return {};
        fs::path at = path;
        while (is_missing(at) && at.has_relative_path())
            at = at.parent_path();
        std::error_code failure;
        if (fs::is_directory(at, failure) || failure) return {};
        return invalid_argument("{}: {} cannot be created because {} is a file", key, path,
                                at.string());
    }

    const bool here_;
    const UsableDevices devices_;
    const std::string directory_;
};

std::string read_all(std::istream& in) {
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Result<std::string> read_text(const std::string& path) {
    if (path == "-") return read_all(std::cin);
    std::error_code failure;
    if (std::filesystem::is_directory(path, failure)) {
        return invalid_argument("{} is a directory; name a job file", path);
    }
    std::ifstream file(path, std::ios::binary);
    if (file) return read_all(file);
    return invalid_argument("cannot read the job file {}: {}", path, std::strerror(errno));
}

}  // namespace

Status check_inputs(const JobSpec& spec, const Workers& workers, const std::string& directory) {
    return Inputs(workers, directory).check(spec);
}

Result<pb::JobSpec> read_job_file(const std::string& path,
                                  const std::vector<std::string>& overrides) {
    RM_TRY(std::string text, read_text(path));
    RM_TRY(const JobSpec spec, parse_job_file(text, path == "-" ? "stdin" : path,
                                              std::filesystem::current_path().string(), overrides));
    if (!overrides.empty() && !text.ends_with('\n')) text += '\n';
    for (const std::string& set : overrides)
        text += "# --set " + set + "\n";
    pb::JobSpec message = to_proto(spec);
    message.set_yaml(text);
    return message;
}

}  // namespace rm
