#include "cli/slurm/sbatch.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "cli/client/target.h"
#include "cli/shell.h"

namespace rm {
namespace {

// A file of this user alone, removed at the end of the scope.
class ScriptFile {
public:
    static Result<ScriptFile> write(const std::string& text) {
        std::string path = (std::filesystem::temp_directory_path() / "ringmaster-XXXXXX").string();
        const int fd = ::mkstemp(path.data());
        if (fd < 0) {
            return make_error(ErrorCode::internal, "cannot make {}: {}", path,
                              std::strerror(errno));
        }
        ScriptFile file(path);
        const bool written = ::write(fd, text.data(), text.size()) == std::ssize(text);
        ::close(fd);
        if (written) return file;
        return make_error(ErrorCode::internal, "cannot write {}: {}", path, std::strerror(errno));
    }
    explicit ScriptFile(std::string path) : path_(std::move(path)) {}
    ScriptFile(ScriptFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
    ScriptFile& operator=(ScriptFile&&) = delete;
    ~ScriptFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string_view first_line(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

// 2|1:00:00, of which the user may have given neither.
void add_size(Allocation& allocation) {
    const auto listed = output_of(
        format("squeue --noheader --jobs={} --format='%D|%l' 2>/dev/null", allocation.id));
    if (!listed) return;  // it has ended, or Slurm shows it to others only
    const std::string_view line = first_line(*listed);
    const std::size_t bar = line.find('|');
    if (bar == line.npos) return;
    allocation.nodes = line.substr(0, bar);
    allocation.time_limit = line.substr(bar + 1);
}

}  // namespace

Status check_sbatch() {
    if (!find_in_path("sbatch", environment_lookup("PATH").value_or("")).empty()) return {};
    return make_error(ErrorCode::failed_precondition,
                      "sbatch is not in PATH: run this on a machine that submits jobs to Slurm, or "
                      "take the script there: `ringmaster slurm script JOB.yaml > job.sbatch`");
}

Result<Allocation> submit_batch(const std::string& script,
                                const std::vector<std::string>& options) {
    RM_RETURN_IF_ERROR(check_sbatch());
    RM_TRY(const ScriptFile file, ScriptFile::write(script));
    const std::string words = join(options, " ", shell_word);
    const auto printed =
        output_of(format("sbatch --parsable {} {}", words, shell_word(file.path())));
    if (!printed) {
        return make_error(ErrorCode::failed_precondition, "Slurm did not take the job: {}",
                          printed.error().message);
    }
    // ID, or ID;CLUSTER
    Allocation allocation{
        .id = std::string(split(first_line(*printed), ';').front()), .nodes = "", .time_limit = ""};
    add_size(allocation);
    return allocation;
}

}  // namespace rm
