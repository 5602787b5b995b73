#include "cli/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/format.h"
#include "base/text.h"

namespace rm {
namespace {

// The output is that on stdout.
Result<ProgramEnd> run_line(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return make_error(ErrorCode::internal, "cannot start {}: {}", command,
                          std::strerror(errno));
    }
    ProgramEnd end;
    char part[4096];
    for (std::size_t size = 0; (size = std::fread(part, 1, sizeof part, pipe)) > 0;)
        end.output.append(part, size);
    end.status = ::pclose(pipe);
    return end;
}

}  // namespace

std::string shell_word(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

Result<ProgramEnd> run_to_end(const std::vector<std::string>& argv) {
    return run_line(join(argv, " ", shell_word) + " 2>&1");
}

Result<std::string> output_of(const std::string& command) {
    RM_TRY(ProgramEnd end, run_line(command));
    if (end.status == 0) return std::move(end.output);
    return make_error(ErrorCode::internal, "{} ended with status {}", command,
                      WIFEXITED(end.status) ? WEXITSTATUS(end.status) : end.status);
}

std::string find_in_path(const std::string& program, const std::string& path) {
    for (const std::string_view directory : split(path, ':')) {
        const std::string file = format("{}/{}", directory, program);
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

}  // namespace rm
