#include "worker/rank/jsonl_observer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "base/report_text.h"
#include "worker/dir/files.h"

namespace rm {

Result<JsonlObserver> JsonlObserver::open(const std::string& path, std::string peak_name) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return system_error("cannot open", path, errno);
    return JsonlObserver(std::move(file), std::move(peak_name));
}

// One write each: readers take whole lines, and a line that a full disk cut is ended by the next.
template <typename Report>
void JsonlObserver::write(const Report& report, const std::string& text) {
    const std::string line = to_json(ReportLine{clock_.wall(), report}) + "\n";
    if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        std::printf("a report was lost: the disk takes no more\n");
    }
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
}

void JsonlObserver::on_connected(const ConnectedReport& report) {
    write(report, connected_line(report));
}

void JsonlObserver::on_started(std::int64_t first_step, std::int64_t num_steps) {
    started_ = true;
    write(StartedReport{first_step, num_steps},
          format("training steps {} to {}", first_step, num_steps));
}

void JsonlObserver::on_step(const StepReport& report) {
    write(report, step_line(report, peak_name_));
}

void JsonlObserver::on_evaluation(const EvaluationReport& report) {
    write(report, evaluation_line(report));
}

void JsonlObserver::on_checkpoint(std::int64_t step, const std::string& path, double seconds) {
    write(CheckpointReport{step, path, seconds},
          format("checkpoint {} written in {}", path, Seconds{seconds}));
}

void JsonlObserver::on_stage_done(int stage, std::int64_t step) {
    write(StageDoneReport{stage, step}, stage_done_line(stage, step));
}

void JsonlObserver::on_note(const std::string& text) {
    write(NoteReport{text}, text);
}

}  // namespace rm
