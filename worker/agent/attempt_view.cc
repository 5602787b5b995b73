#include "worker/agent/attempt_view.h"

#include <algorithm>
#include <utility>

#include "engine/comm/communicator.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

constexpr std::int64_t kReportsPerLook = 1 << 20;
constexpr std::int64_t kLogTail = 1024;

}  // namespace

AttemptView::AttemptView(AttemptDir dir, AttemptFile attempt)
    : dir_(std::move(dir)), attempt_(std::move(attempt)) {
    for (const RankLaunch& launch : attempt_.ranks) {
        ranks_.push_back({launch, LineTail(dir_.reports(launch.rank)), {}, {}});
    }
}

Observation AttemptView::look(MonoTime now) {
    // Check this first: once no process is left, all output is complete and is read below.
    const bool live = is_live(dir_.live_lock());
    read_shim_file();
    Observation out;
    for (Rank& rank : ranks_)
        read_reports(rank, out);
    out.status = {.epoch = attempt_.epoch,
                  .job = attempt_.job,
                  .processes_left = live,
                  .checkpoint_step = checkpoint_.step,
                  .checkpoint_path = checkpoint_.path,
                  .stages_done = stages_done_};
    if (!live && !shim_) {
        const std::string words = tail_of_file(dir_.shim_log(), kLogTail);
        out.status.launch_error =
            words.empty() ? "the shim ended before it started a rank" : "the shim failed: " + words;
        return out;
    }
    for (Rank& rank : ranks_)
        out.status.ranks.push_back(status_of(rank, live, now));
    return out;
}

void AttemptView::read_shim_file() {
    if (shim_ && shim_->ranks.size() == ranks_.size()) return;  // written for the last time
    const Result<std::string> text = read_text_file(dir_.shim());
    if (!text) return;
    const Result<ShimFile> file = parse_shim_file(*text);
    if (file) shim_ = *file;
}

void AttemptView::read_reports(Rank& rank, Observation& out) {
    while (true) {
        const auto lines = rank.reports.take(kReportsPerLook);
        if (lines.empty()) return;
        for (const LineTail::Line& line : lines) {
            Result<ReportLine> report = parse_report_line(line.text);
            if (!report) continue;  // cut short by a full disk; telemetry reports that
            note_milestones(*report);
            out.reports.push_back({rank.launch.rank, std::move(*report)});
        }
    }
}

void AttemptView::note_milestones(const ReportLine& line) {
    if (const auto* checkpoint = std::get_if<CheckpointReport>(&line.report)) {
        checkpoint_ = *checkpoint;
    } else if (const auto* stage = std::get_if<StageDoneReport>(&line.report)) {
        stages_done_ = std::max(stages_done_, stage->stage + 1);
    }
}

RankStatus AttemptView::status_of(Rank& rank, bool live, MonoTime now) {
    RankStatus status{.rank = rank.launch.rank, .device = rank.launch.device, .phase = "starting"};
    add_progress(rank, status, now);
    if (!rank.exit) {
        const Result<std::string> text = read_text_file(dir_.exit(rank.launch.rank));
        const Result<ExitFile> exit = text ? parse_exit_file(*text) : text.error();
        if (exit) rank.exit = *exit;
    }
    if (rank.exit) {
        status.exited = true;
        status.exit_code = rank.exit->code;
        status.exit_signal = rank.exit->signal;
        status.error = rank.exit->words;
        status.exit_order_mono_nanos = rank.exit->mono_nanos;
    } else if (!live) {
        // A disk without room for one line of shim.json is a fault of the node.
        const bool known = process_of(rank.launch.rank) != nullptr;
        status.exited = true;
        status.exit_code = known ? kRankFailed : kRankNotStarted;
        status.error = known ? "it ended together with its shim, which recorded no exit"
                             : "its shim recorded neither its start nor its end" + shim_words();
    } else if (const ProcessId* process = process_of(rank.launch.rank)) {
        status.running = is_running(*process);
        status.suspended = is_suspended(*process);
    }
    return status;
}

// ": cannot make room for ...", or nothing.
std::string AttemptView::shim_words() const {
    const std::string words = tail_of_file(dir_.shim_log(), kLogTail);
    return words.empty() ? "" : ": " + words;
}

const ProcessId* AttemptView::process_of(int rank) const {
    if (!shim_) return nullptr;
    const auto started = std::find_if(shim_->ranks.begin(), shim_->ranks.end(),
                                      [&](const auto& entry) { return entry.rank == rank; });
    return started == shim_->ranks.end() ? nullptr : &started->process;
}

void AttemptView::add_progress(Rank& rank, RankStatus& status, MonoTime now) const {
    if (!rank.progress) {
        auto mapped = ProgressFile::map_to_read(dir_.progress(rank.launch.rank));
        if (!mapped) return;
        rank.progress = std::move(*mapped);
    }
    const ProgressPage& page = rank.progress->page();
    if (page.version.load() != ProgressPage::kVersion) return;
    status.step = page.step.load();
    status.training = status.step > 0;
    const Phase phase = page.phase.load();
    status.phase = to_string(phase);
    const CommProgress& collectives = page.collectives;
    status.last_collective = comm_name(collectives.last.load());
    status.collectives_entered = collectives.entered.load();
    status.collectives_left = collectives.left.load();
    status.waits_for = collectives.waits_for.load() - 1;
    if (!is_of_a_step(phase) || collectives.pulse.num_steps.load() == 0) return;
    status.longest_quiet = collectives.pulse.longest_pause();
    status.quiet = std::max(Seconds{}, now - MonoTime{collectives.pulse.beat_mono_nanos.load()});
}

}  // namespace rm
