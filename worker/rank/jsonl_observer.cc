#include "worker/rank/jsonl_observer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "spec/report.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

constexpr std::size_t kMaxHeld = 16 << 20;  // some 20,000 steps

}  // namespace

Result<JsonlObserver> JsonlObserver::open(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return system_error("cannot open", path, errno);
    return JsonlObserver(std::move(file));
}

bool JsonlObserver::append(const std::string& line) {
    const bool fits = held_.size() + line.size() <= kMaxHeld;
    if (fits) held_ += line;
    while (!held_.empty()) {
        const ssize_t written = ::write(file_.get(), held_.data(), held_.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        held_.erase(0, usize(written));
    }
    return fits;
}

template <typename Report>
void JsonlObserver::write(const Report& report, const std::string& text) {
    const std::string line = to_json(ReportLine{clock_.wall(), report}) + "\n";
    if (!append(line)) std::printf("a report was lost: the disk takes no more\n");
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
}

void JsonlObserver::on_connected(const ConnectedReport& report) {
    write(report, connected_line(report));
}

void JsonlObserver::on_started(std::int64_t first_step, std::int64_t num_steps) {
    started_ = true;
    const StartedReport report{first_step, num_steps};
    write(report, started_line(report));
}

void JsonlObserver::on_step(const StepReport& report) {
    std::string text;
    if (std::exchange(said_stage_, report.stage) != report.stage) {
        for (const std::string& line : step_constants(report))
            text += line + '\n';
    }
    write(report, text + step_line(report));
}

void JsonlObserver::on_evaluation(const EvaluationReport& report) {
    write(report, evaluation_line(report));
}

void JsonlObserver::on_suite(const SuiteReport& report) {
    write(report, suite_line(report));
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

void JsonlObserver::on_alarm(const std::string& text) {
    write(AlarmReport{text}, "ALARM " + text);
}

}  // namespace rm
