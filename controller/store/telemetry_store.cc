#include "controller/store/telemetry_store.h"

#include <cmath>

#include "controller/store/log_file.h"
#include "controller/store/log_times.h"
#include "controller/store/schema.h"

namespace rm {
namespace {

constexpr const char* kFindStream =
    "SELECT reports_offset, log_offset, log_dropped FROM streams WHERE epoch = ? AND rank = ?";

Result<StreamOffsets> find_stream(Statement& statement, Epoch epoch, int rank) {
    statement.bind(1, epoch.value).bind(2, std::int64_t{rank});
    RM_TRY(const bool found, statement.step());
    if (!found) return StreamOffsets{};
    const StreamOffsets offsets{statement.whole(0), statement.whole(1), statement.whole(2)};
    statement.reset();
    return offsets;
}

constexpr const char* kReportColumns = "id, epoch, end_offset, received, report";

KeptReport report_in(const Statement& row) {
    return {row.whole(0), {row.whole(1)}, row.whole(2), {row.whole(3)}, row.text(4)};
}

// Reads all rows of a bound statement.
Result<std::vector<KeptReport>> rows_of(Statement& select) {
    std::vector<KeptReport> reports;
    while (true) {
        RM_TRY(const bool more, select.step());
        if (!more) return reports;
        reports.push_back(report_in(select));
    }
}

std::string insert_report(const char* table) {
    return format(
        "INSERT OR IGNORE INTO {} (job, epoch, rank, end_offset, received, report, step, "
        "loss) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        table);
}

const char* table_of(PieceKind kind) {
    switch (kind) {
        case PieceKind::step:
            return "steps";
        case PieceKind::evaluation:
            return "evaluations";
        case PieceKind::note:
            return "notes";
        case PieceKind::alarm:
            return "alarms";
        case PieceKind::connected:
        case PieceKind::log:
            break;
    }
    RM_CHECK(false, "logs and connections are not in a table of reports");
    return "";
}

std::string insert_words(const char* table) {
    return format(
        "INSERT OR IGNORE INTO {} (job, epoch, rank, end_offset, received, report) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        table);
}

std::int64_t align_down(std::int64_t value, std::int64_t step) {
    return value / step * step;
}

}  // namespace

StreamOffsets claimed_offsets(const TelemetryPiece& piece) {
    if (piece.kind == PieceKind::log) return {.log = piece.end_offset};
    return {.reports = piece.end_offset};
}

Result<std::unique_ptr<TelemetryStore>> TelemetryStore::open(const TelemetryPaths& paths,
                                                             Bytes log_cap) {
    RM_TRY(Database database,
           open_migrated(paths.database, {telemetry_migrations()}, Durability::normal));
    RM_TRY(Statement find, database.prepare(kFindStream));
    RM_TRY(Statement put, database.prepare("INSERT OR REPLACE INTO streams (epoch, rank, job, "
                                           "reports_offset, log_offset, log_dropped) "
                                           "VALUES (?, ?, ?, ?, ?, ?)"));
    RM_TRY(Statement step, database.prepare(insert_report("steps")));
    RM_TRY(Statement evaluation, database.prepare(insert_report("evaluations")));
    RM_TRY(Statement note, database.prepare(insert_words("notes")));
    RM_TRY(Statement alarm, database.prepare(insert_words("alarms")));
    RM_TRY(Statement connected,
           database.prepare("INSERT OR REPLACE INTO connections (epoch, rank, job, received, "
                            "report) VALUES (?, ?, ?, ?, ?)"));
    return std::unique_ptr<TelemetryStore>(
        new TelemetryStore(paths, log_cap, std::move(database),
                           {std::move(find), std::move(put), std::move(step), std::move(evaluation),
                            std::move(note), std::move(alarm), std::move(connected)}));
}

Status TelemetryStore::write(std::span<const TelemetryPiece> pieces) {
    const Status status = database_.transaction([&]() -> Status {
        for (const TelemetryPiece& piece : pieces)
            RM_RETURN_IF_ERROR(keep(piece));
        return {};
    });
    // Cached offsets may include pieces that were rolled back.
    if (!status) known_.clear();
    return status;
}

Result<StreamOffsets> TelemetryStore::offsets(Epoch epoch, int rank) {
    const StreamKey key{epoch.value, rank};
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    RM_TRY(const StreamOffsets offsets, find_stream(sql_.find_stream, epoch, rank));
    known_[key] = offsets;
    return offsets;
}

Status TelemetryStore::keep(const TelemetryPiece& piece) {
    RM_TRY(StreamOffsets offsets, this->offsets(piece.epoch, piece.rank));
    if (piece.kind == PieceKind::log) {
        RM_RETURN_IF_ERROR(keep_log(piece, offsets));
    } else {
        RM_RETURN_IF_ERROR(keep_report(piece, offsets));
    }
    known_[{piece.epoch.value, piece.rank}] = offsets;
    return sql_.put_stream.bind(1, piece.epoch.value)
        .bind(2, std::int64_t{piece.rank})
        .bind(3, piece.job.value)
        .bind(4, offsets.reports)
        .bind(5, offsets.log)
        .bind(6, offsets.log_dropped)
        .run();
}

Status TelemetryStore::keep_report(const TelemetryPiece& piece, StreamOffsets& offsets) {
    if (piece.end_offset <= offsets.reports) return {};
    offsets.reports = piece.end_offset;
    if (piece.kind == PieceKind::connected) return keep_connected(piece);
    Statement& insert = piece.kind == PieceKind::step         ? sql_.put_step
                        : piece.kind == PieceKind::evaluation ? sql_.put_evaluation
                        : piece.kind == PieceKind::alarm      ? sql_.put_alarm
                                                              : sql_.put_note;
    insert.bind(1, piece.job.value)
        .bind(2, piece.epoch.value)
        .bind(3, std::int64_t{piece.rank})
        .bind(4, piece.end_offset)
        .bind(5, piece.received.micros);
    const bool words = piece.kind == PieceKind::note || piece.kind == PieceKind::alarm;
    if (words) return insert.bind(6, piece.bytes).run();
    // SQLite has no NaN: it stores NULL.
    return insert.bind_blob(6, piece.bytes).bind(7, piece.step).bind(8, piece.loss).run();
}

Status TelemetryStore::keep_connected(const TelemetryPiece& piece) {
    return sql_.put_connected.bind(1, piece.epoch.value)
        .bind(2, std::int64_t{piece.rank})
        .bind(3, piece.job.value)
        .bind(4, piece.received.micros)
        .bind_blob(5, piece.bytes)
        .run();
}

Status TelemetryStore::keep_log(const TelemetryPiece& piece, StreamOffsets& offsets) {
    if (piece.end_offset <= offsets.log) return {};
    const std::string path = log_path(paths_.logs, piece.job.value, piece.epoch.value, piece.rank);
    const auto size = static_cast<std::int64_t>(piece.bytes.size());
    RM_RETURN_IF_ERROR(write_log(path, piece.end_offset - size, piece.bytes));
    RM_RETURN_IF_ERROR(
        note_log_time(log_times_path(path), piece.end_offset - size, piece.received));
    offsets.log = piece.end_offset;
    return enforce_cap(path, offsets);
}

Status TelemetryStore::enforce_cap(const std::string& path, StreamOffsets& offsets) {
    const std::int64_t dropped = align_down(offsets.log - log_cap_.value, kLogBlock);
    if (dropped <= offsets.log_dropped) return {};
    RM_RETURN_IF_ERROR(drop_log_front(path, dropped));
    offsets.log_dropped = dropped;
    return {};
}

Result<std::unique_ptr<TelemetryReader>> TelemetryReader::open(const TelemetryPaths& paths) {
    RM_TRY(Database database, Database::open(paths.database, Access::read));
    RM_TRY(Statement find, database.prepare(kFindStream));
    RM_TRY(Statement last_steps,
           database.prepare(format("SELECT {} FROM steps WHERE epoch = ? AND rank = ? "
                                   "ORDER BY end_offset DESC LIMIT ?",
                                   kReportColumns)));
    RM_TRY(Statement connections,
           database.prepare("SELECT rank, report FROM connections WHERE epoch = ?"));
    RM_TRY(Statement alarms, database.prepare(format("SELECT {} FROM alarms WHERE job = ? "
                                                     "ORDER BY id DESC LIMIT ?",
                                                     kReportColumns)));
    Statements statements{
        std::move(find), std::move(last_steps), std::move(alarms), std::move(connections), {}, {}};
    for (const PieceKind kind :
         {PieceKind::step, PieceKind::evaluation, PieceKind::note, PieceKind::alarm}) {
        const char* table = table_of(kind);
        RM_TRY(Statement last, database.prepare(format("SELECT {} FROM {} WHERE job = ? AND "
                                                       "rank = 0 ORDER BY id DESC LIMIT 1",
                                                       kReportColumns, table)));
        RM_TRY(Statement since, database.prepare(format("SELECT {} FROM {} WHERE job = ? AND "
                                                        "rank = 0 AND id > ? ORDER BY id LIMIT ?",
                                                        kReportColumns, table)));
        statements.last.emplace(kind, std::move(last));
        statements.since.emplace(kind, std::move(since));
    }
    return std::unique_ptr<TelemetryReader>(
        new TelemetryReader(paths, std::move(database), std::move(statements)));
}

Result<std::optional<KeptReport>> TelemetryReader::last(const JobId& job, PieceKind kind) {
    const std::lock_guard lock(mutex_);
    Statement& select = sql_.last.at(kind);
    select.bind(1, job.value);
    RM_TRY(const bool found, select.step());
    if (!found) return std::optional<KeptReport>();
    KeptReport report = report_in(select);
    select.reset();
    return std::optional<KeptReport>(std::move(report));
}

Result<std::vector<KeptReport>> TelemetryReader::since(const JobId& job, PieceKind kind,
                                                       std::int64_t after_id, int limit) {
    const std::lock_guard lock(mutex_);
    Statement& select = sql_.since.at(kind);
    select.bind(1, job.value).bind(2, after_id).bind(3, std::int64_t{limit});
    return rows_of(select);
}

Result<std::vector<KeptReport>> TelemetryReader::last_steps(Epoch epoch, int rank, int limit) {
    const std::lock_guard lock(mutex_);
    Statement& select = sql_.last_steps;
    select.bind(1, epoch.value).bind(2, std::int64_t{rank}).bind(3, std::int64_t{limit});
    return rows_of(select);
}

Result<std::vector<KeptReport>> TelemetryReader::alarms(const JobId& job, int limit) {
    const std::lock_guard lock(mutex_);
    sql_.alarms.bind(1, job.value).bind(2, std::int64_t{limit});
    return rows_of(sql_.alarms);
}

Result<std::map<int, std::string>> TelemetryReader::connections(Epoch epoch) {
    const std::lock_guard lock(mutex_);
    Statement& select = sql_.connections;
    select.bind(1, epoch.value);
    std::map<int, std::string> reports;
    while (true) {
        RM_TRY(const bool more, select.step());
        if (!more) return reports;
        reports[static_cast<int>(select.whole(0))] = select.text(1);
    }
}

Result<LogPart> TelemetryReader::log(const JobId& job, Epoch epoch, int rank, std::int64_t offset,
                                     std::int64_t max_bytes) {
    StreamOffsets kept;
    {
        const std::lock_guard lock(mutex_);
        RM_TRY(kept, find_stream(sql_.find_stream, epoch, rank));
    }
    LogPart part{std::max(offset, kept.log_dropped), "", kept.log_dropped, {}};
    if (kept.log <= part.offset) return part;
    const std::string path = log_path(paths_.logs, job.value, epoch.value, rank);
    const LogTime arrived = find_log_time(log_times_path(path), part.offset);
    part.time = arrived.time;
    const std::int64_t end = std::min(kept.log, arrived.end);
    RM_TRY(part.bytes, read_log(path, part.offset, std::min(max_bytes, end - part.offset)));
    return part;
}

namespace {

// Behind the line break before the last `lines` lines of what lies in [begin, end).
Result<std::int64_t> tail_offset(const std::string& path, std::int64_t begin, std::int64_t end,
                                 std::int64_t lines) {
    constexpr std::int64_t kStep = 64 * 1024;
    std::int64_t breaks = 0;
    for (std::int64_t high = end; high > begin;) {
        const std::int64_t low = std::max(begin, high - kStep);
        std::int64_t at = low;  // moves past what was dropped
        RM_TRY(const std::string bytes, read_log(path, at, high - low));
        for (std::size_t i = bytes.size(); i-- > 0;) {
            const std::int64_t place = at + static_cast<std::int64_t>(i);
            if (place + 1 >= end || bytes[i] != '\n') continue;  // the log's last break ends a line
            if (++breaks == lines) return place + 1;
        }
        high = low;
    }
    return begin;
}

}  // namespace

Result<std::int64_t> TelemetryReader::log_begin(const JobId& job, Epoch epoch, int rank,
                                                const LogRange& range) {
    StreamOffsets kept;
    {
        const std::lock_guard lock(mutex_);
        RM_TRY(kept, find_stream(sql_.find_stream, epoch, rank));
    }
    std::int64_t begin = std::max(range.offset, kept.log_dropped);
    const std::string path = log_path(paths_.logs, job.value, epoch.value, rank);
    if (range.since.micros > 0) {
        const std::int64_t since = find_log_offset(log_times_path(path), range.since);
        begin = std::max(begin, std::min(since, kept.log));
    }
    if (range.tail_lines == 0 || begin >= kept.log) return begin;
    return tail_offset(path, begin, kept.log, range.tail_lines);
}

}  // namespace rm
