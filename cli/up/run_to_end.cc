#include "cli/up/run_to_end.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rm {
namespace {

std::string quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
}

}  // namespace

Result<ProgramEnd> run_to_end(const std::vector<std::string>& argv) {
    std::string line;
    for (const std::string& word : argv)
        line += quoted(word) + " ";
    std::FILE* pipe = ::popen((line + "2>&1").c_str(), "r");
    if (pipe == nullptr) {
        return make_error(ErrorCode::internal, "cannot start {}: {}", argv[0],
                          std::strerror(errno));
    }
    ProgramEnd end;
    char part[4096];
    for (std::size_t size = 0; (size = std::fread(part, 1, sizeof part, pipe)) > 0;)
        end.output.append(part, size);
    end.status = ::pclose(pipe);
    return end;
}

}  // namespace rm
