#include "worker/agent/telemetry_spool.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "spec/report.h"
#include "worker/dir/files.h"
#include "worker/rank/report_line.h"

namespace rm {
namespace {

using nlohmann::json;
using Content = decltype(SpooledPiece::content);

constexpr std::int64_t kReportsBlock = 1 << 20;
constexpr std::int64_t kDiskBlock = 4096;

std::int64_t whole_blocks(std::int64_t bytes) {
    return bytes / kDiskBlock * kDiskBlock;
}

Content content_of(const StepReport& report) {
    return report;
}
Content content_of(const EvaluationReport& report) {
    return report;
}
Content content_of(const SuiteReport& report) {
    return report;
}
Content content_of(const ConnectedReport& report) {
    return report;
}
Content content_of(const StartedReport& report) {
    return Note{started_line(report)};
}
Content content_of(const CheckpointReport& report) {
    return Note{format("checkpoint {} written in {}", report.path, Seconds{report.seconds})};
}
Content content_of(const StageDoneReport& report) {
    return Note{stage_done_line(report.stage, report.step)};
}
Content content_of(const NoteReport& report) {
    return Note{report.text};
}
Content content_of(const AlarmReport& report) {
    return Note{report.text, true};
}

}  // namespace

TelemetrySpool::TelemetrySpool(AttemptDir dir, const AttemptFile& attempt, Bytes cap)
    : dir_(std::move(dir)), epoch_(attempt.epoch), cap_(cap) {
    for (const RankLaunch& launch : attempt.ranks) {
        Rank& rank = ranks_[launch.rank];
        rank.log_path = dir_.log(launch.rank);
        rank.reports_path = dir_.reports(launch.rank);
    }
    load(attempt);
    rewind();
}

void TelemetrySpool::load(const AttemptFile& attempt) {
    const Result<std::string> text = read_text_file(dir_.telemetry());
    if (!text) return;
    const json value = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!value.is_object()) return;
    for (const RankLaunch& launch : attempt.ranks) {
        const auto entry = value.find(format("{}", launch.rank));
        if (entry == value.end() || !entry->is_object()) continue;
        acknowledge(launch.rank, entry->value("reports", std::int64_t{0}),
                    entry->value("log", std::int64_t{0}));
    }
    changed_ = false;
}

Status TelemetrySpool::save() {
    if (!changed_) return {};
    changed_ = false;
    json value = json::object();
    for (const auto& [number, rank] : ranks_) {
        value[format("{}", number)] = {{"reports", rank.acknowledged_reports},
                                       {"log", rank.acknowledged_log}};
    }
    return replace_text_file(dir_.telemetry(), value.dump());
}

void TelemetrySpool::rewind() {
    for (auto& [number, rank] : ranks_) {
        rank.sent_log = rank.acknowledged_log;
        rank.reports = LineTail(rank.reports_path, rank.acknowledged_reports);
        rank.lines.clear();
    }
}

void TelemetrySpool::acknowledge(int rank, std::int64_t reports_offset, std::int64_t log_offset) {
    const auto known = ranks_.find(rank);
    if (known == ranks_.end()) return;
    Rank& offsets = known->second;
    changed_ = changed_ || reports_offset > offsets.acknowledged_reports ||
               log_offset > offsets.acknowledged_log;
    offsets.acknowledged_reports = std::max(offsets.acknowledged_reports, reports_offset);
    offsets.acknowledged_log = std::max(offsets.acknowledged_log, log_offset);
}

std::int64_t TelemetrySpool::waiting() const {
    std::int64_t bytes = 0;
    for (const auto& [number, rank] : ranks_) {
        bytes += std::max<std::int64_t>(0, size_of_file(rank.log_path) - rank.acknowledged_log);
        bytes += size_of_file(rank.reports_path) - rank.acknowledged_reports;
    }
    return bytes;
}

std::int64_t TelemetrySpool::droppable(const Rank& rank) {
    return size_of_file(rank.log_path) - kKeptLogTail - rank.acknowledged_log;
}

void TelemetrySpool::trim(WallTime now) {
    for (auto& [number, rank] : ranks_)
        free_acknowledged(rank);
    if (waiting() <= cap_.value) return;
    std::int64_t excess = waiting() - cap_.value / 8 * 7;
    while (excess > 0) {
        const auto longest =
            std::max_element(ranks_.begin(), ranks_.end(), [](const auto& one, const auto& other) {
                return droppable(one.second) < droppable(other.second);
            });
        const std::int64_t most = droppable(longest->second);
        if (most <= 0) return;
        const std::int64_t bytes = std::min(most, excess);
        drop_oldest(longest->second, bytes, now);
        excess -= bytes;
    }
}

// A file system without hole punching keeps the bytes.
void TelemetrySpool::free_acknowledged(Rank& rank) const {
    const std::int64_t kept = size_of_file(rank.log_path) - kKeptLogTail;
    const std::int64_t end = whole_blocks(std::min(rank.acknowledged_log, kept));
    if (end - rank.freed_log < kKeptLogTail) return;
    if (drop_front(rank.log_path, end)) rank.freed_log = end;
}

void TelemetrySpool::drop_oldest(Rank& rank, std::int64_t bytes, WallTime now) {
    rank.acknowledged_log += bytes;
    rank.sent_log = std::max(rank.sent_log, rank.acknowledged_log);
    changed_ = true;
    free_acknowledged(rank);
    const NoteReport note{
        format("{} of this rank's log were dropped: more than {} waited for the controller",
               Bytes{bytes}, cap_)};
    // On a full disk the note is lost, too.
    [[maybe_unused]] const Status noted =
        append_text(rank.reports_path, to_json(ReportLine{now, note}) + "\n");
}

bool TelemetrySpool::drained() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
        const Rank& rank = entry.second;
        return rank.acknowledged_log >= size_of_file(rank.log_path) &&
               rank.acknowledged_reports >= size_of_file(rank.reports_path);
    });
}

std::optional<SpooledPiece> TelemetrySpool::next() {
    for (auto& [number, rank] : ranks_) {
        if (auto piece = next_report(number, rank)) return piece;
    }
    // Ranks take turns, so that one that floods its log does not silence the others.
    auto turn = ranks_.upper_bound(last_log_rank_);
    for (std::size_t i = 0; i < ranks_.size(); ++i, ++turn) {
        if (turn == ranks_.end()) turn = ranks_.begin();
        if (auto piece = next_log(turn->first, turn->second)) {
            last_log_rank_ = turn->first;
            return piece;
        }
    }
    return std::nullopt;
}

std::optional<SpooledPiece> TelemetrySpool::next_report(int number, Rank& rank) const {
    if (rank.lines.empty()) {
        for (LineTail::Line& line : rank.reports.take(kReportsBlock)) {
            rank.lines.push_back(std::move(line));
        }
    }
    if (rank.lines.empty()) return std::nullopt;
    const LineTail::Line line = std::move(rank.lines.front());
    rank.lines.pop_front();
    SpooledPiece piece{.epoch = epoch_, .rank = number, .end_offset = line.end_offset};
    const Result<ReportLine> report = parse_report_line(line.text);
    if (report) piece.time = report->time;
    piece.content =
        report ? std::visit([](const auto& kind) { return content_of(kind); }, report->report)
               : Content(Note{report.error().message});
    return piece;
}

std::optional<SpooledPiece> TelemetrySpool::next_log(int number, Rank& rank) const {
    std::string bytes = read_file_piece(rank.log_path, rank.sent_log, kLargestLogChunk);
    if (bytes.empty()) return std::nullopt;
    rank.sent_log += static_cast<std::int64_t>(bytes.size());
    return SpooledPiece{.epoch = epoch_,
                        .rank = number,
                        .end_offset = rank.sent_log,
                        .content = LogChunk{std::move(bytes)}};
}

}  // namespace rm
