#include "cli/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/format.h"
#include "base/text.h"

namespace rm {

std::string shell_word(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

Result<std::string> output_of(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return make_error(ErrorCode::internal, "cannot start {}: {}", command,
                          std::strerror(errno));
    }
    std::string output;
    char part[4096];
    for (std::size_t size = 0; (size = std::fread(part, 1, sizeof part, pipe)) > 0;)
        output.append(part, size);
    const int status = ::pclose(pipe);
    if (status == 0) return output;
    return make_error(ErrorCode::internal, "{} ended with status {}", command,
                      WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

std::string find_in_path(const std::string& program, const std::string& path) {
    for (const std::string_view directory : split(path, ':')) {
        const std::string file = format("{}/{}", directory, program);
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

}  // namespace rm
