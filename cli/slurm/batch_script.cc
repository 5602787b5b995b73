#include "cli/slurm/batch_script.h"

#include "base/check.h"
#include "base/format.h"
#include "base/text.h"
#include "cli/shell.h"

namespace rm {
namespace {

constexpr std::string_view kBegin = "# settings: begin\n";
constexpr std::string_view kEnd = "# settings: end\n";
constexpr std::string_view kEndOfJob = "END_OF_THE_JOB_FILE";

std::string array_of(const std::vector<std::string>& overrides) {
    std::string words;
    for (const std::string& set : overrides)
        words += format("{}--set {}", words.empty() ? "" : " ", shell_word(set));
    return words;
}

std::string assignments(const BatchSettings& settings) {
    std::string text = format("programs={}\ndirectory={}\n", shell_word(settings.programs),
                              shell_word(settings.directory));
    text += settings.state.empty() ? format("state={}/ringmaster-${{SLURM_JOB_ID:-}}\n",
                                            shell_word(settings.directory))
                                   : format("state={}\n", shell_word(settings.state));
    text += format("devices={}\nports={}\nset=({})\n", shell_word(settings.devices),
                   shell_word(settings.ports), array_of(settings.set));
    const std::string_view newline = settings.job_file.ends_with('\n') ? "" : "\n";
    return text + format("job_file() {{\n    cat <<'{}'\n{}{}{}\n}}\n", kEndOfJob,
                         settings.job_file, newline, kEndOfJob);
}

// The text with what lies between two marks replaced; the template has each of them once.
std::string replaced(std::string_view text, std::string_view begin, std::string_view end,
                     const std::string& by) {
    const std::size_t from = text.find(begin) + begin.size();
    const std::size_t to = text.find(end, from);
    RM_CHECK(text.find(begin) != text.npos && to != text.npos, "the template lacks {}", begin);
    return std::string(text.substr(0, from)) + by + std::string(text.substr(to));
}

}  // namespace

Result<std::string> batch_script(std::string_view text, const BatchSettings& settings) {
    for (const std::string_view line : split(settings.job_file, '\n')) {
        if (line != kEndOfJob) continue;
        return invalid_argument("the job file has the line {}, which ends it in the batch script",
                                kEndOfJob);
    }
    const std::string named = replaced(text, "#SBATCH --job-name=", "\n", settings.job_name);
    return replaced(named, kBegin, kEnd, assignments(settings));
}

}  // namespace rm
