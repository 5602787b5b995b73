#include "cli/job_file_input.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "service/job_file.h"

namespace rm {
namespace {

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
