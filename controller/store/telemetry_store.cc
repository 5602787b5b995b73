#include "controller/store/telemetry_store.h"

#include "controller/store/control_store.h"
#include "controller/store/log_file.h"
#include "controller/store/table.h"

namespace rm {

void columns(Like<KeptReport> auto& report, auto&& visit) {
    visit("id", report.id);
    visit("epoch", report.epoch);
    visit("end_offset", report.end_offset);
    visit("received", report.received);
    visit("report", report.bytes);
}

void columns(Like<KeptEvaluation> auto& evaluation, auto&& visit) {
    visit("id", evaluation.id);
    visit("epoch", evaluation.epoch);
    visit("received", evaluation.received);
    visit("step", evaluation.step);
    visit("loss", evaluation.loss);
}

namespace {

// The tables of reports. Connections and logs are kept elsewhere.
constexpr std::pair<PieceKind, std::string_view> kReports[] = {
    {PieceKind::step, "steps"},
    {PieceKind::evaluation, "evaluations"},
    {PieceKind::suite, "suites"},
    {PieceKind::note, "notes"},
    {PieceKind::alarm, "alarms"}};

constexpr const char* kFindStream =
    "SELECT reports_offset, log_offset, log_dropped FROM streams WHERE epoch = ? AND rank = ?";

Result<StreamOffsets> find_stream(Statement& statement, Epoch epoch, int rank) {
    RM_TRY(const bool found, statement.bind_all(epoch, rank).step());
    if (!found) return StreamOffsets{};
    const StreamOffsets offsets{statement.whole(0), statement.whole(1), statement.whole(2)};
    statement.reset();
    return offsets;
}

bool is_text(PieceKind kind) {
    return kind == PieceKind::note || kind == PieceKind::alarm;
}

Result<Statement> prepare_put(Database& database, PieceKind kind, std::string_view table) {
    const auto put = [&](std::string_view more, std::string_view marks) {
        return database.prepare(
            format("INSERT OR IGNORE INTO {} (job, epoch, rank, end_offset, received, report{}) "
                   "VALUES (?, ?, ?, ?, ?, ?{})",
                   table, more, marks));
    };
    if (is_text(kind)) return put("", "");
    return kind == PieceKind::suite ? put(", name", ", ?") : put(", step, loss", ", ?, ?");
}

template <typename Row>
Result<Statement> prepare_after(Database& database, std::string_view table) {
    return database.prepare(
        format("SELECT {} FROM {} WHERE job = ? AND rank = 0 AND id > ? ORDER BY id LIMIT ?",
               column_names<Row>().names, table));
}

Result<Statement> prepare_up_to(Database& database, std::string_view table) {
    return database.prepare(
        format("SELECT MAX(id) FROM {} WHERE job = ?1 AND rank = 0 AND "
               "(epoch < ?2 OR (epoch = ?2 AND step <= ?3))",
               table));
}

// The one number of a statement that selects one.
Result<std::int64_t> whole_of(Statement& statement) {
    RM_RETURN_IF_ERROR(statement.step());
    const std::int64_t number = statement.whole(0);
    statement.reset();
    return number;
}

// The offset of the last `lines` lines of [begin, end): just after the line break before them.
Result<std::int64_t> tail_offset(const std::string& path, std::int64_t begin, std::int64_t end,
                                 std::int64_t lines) {
    constexpr std::int64_t kStep = 64 * 1024;
    std::int64_t breaks = 0;
    for (std::int64_t high = end; high > begin;) {
        const std::int64_t low = std::max(begin, high - kStep);
        std::int64_t at = low;  // read_log() moves it past dropped bytes
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

StreamOffsets claimed_offsets(const TelemetryPiece& piece) {
    if (piece.kind == PieceKind::log) return {.log = piece.end_offset};
    return {.reports = piece.end_offset};
}

Result<std::unique_ptr<TelemetryStore>> TelemetryStore::open(const TelemetryPaths& paths,
                                                             Bytes log_cap, StepSampler sampler) {
    RM_TRY(Database database,
           open_migrated(paths.database, {telemetry_migrations()}, Durability::normal));
    RM_TRY(Statement find, database.prepare(kFindStream));
    RM_TRY(Statement put, database.prepare("INSERT OR REPLACE INTO streams (epoch, rank, job, "
                                           "reports_offset, log_offset, log_dropped) "
                                           "VALUES (?, ?, ?, ?, ?, ?)"));
    RM_TRY(Statement connected,
           database.prepare("INSERT OR REPLACE INTO connections (epoch, rank, job, received, "
                            "report) VALUES (?, ?, ?, ?, ?)"));
    RM_TRY(Statement steps_after, prepare_after<KeptReport>(database, "steps"));
    RM_TRY(Statement evaluations_after, prepare_after<KeptEvaluation>(database, "evaluations"));
    RM_TRY(Statement steps_up_to, prepare_up_to(database, "steps"));
    RM_TRY(Statement evaluations_up_to, prepare_up_to(database, "evaluations"));
    Statements statements{std::move(find),
                          std::move(put),
                          std::move(connected),
                          std::move(steps_after),
                          std::move(evaluations_after),
                          std::move(steps_up_to),
                          std::move(evaluations_up_to),
                          {}};
    for (const auto& [kind, table] : kReports) {
        RM_TRY(Statement report, prepare_put(database, kind, table));
        statements.put_report.emplace(kind, std::move(report));
    }
    RM_TRY(CurveStore curves, CurveStore::open(database, std::move(sampler)));
    return std::unique_ptr<TelemetryStore>(new TelemetryStore(
        paths, log_cap, std::move(database), std::move(statements), std::move(curves)));
}

Status TelemetryStore::write(std::span<const TelemetryPiece> pieces) {
    const Status status = database_.transaction([&]() -> Status {
        for (const TelemetryPiece& piece : pieces)
            RM_RETURN_IF_ERROR(keep(piece));
        return {};
    });
    if (!status) forget();
    return status;
}

void TelemetryStore::forget() {
    known_.clear();
    curves_.forget();
}

Result<StreamOffsets> TelemetryStore::offsets(Epoch epoch, int rank) {
    const StreamKey key{epoch.value, rank};
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    RM_TRY(const StreamOffsets offsets, find_stream(sql_.find_stream, epoch, rank));
    known_[key] = offsets;
    return offsets;
}

Result<std::vector<KeptReport>> TelemetryStore::steps_after(const JobId& job,
                                                            const KeptUpTo& position, int limit) {
    return read_rows<KeptReport>(sql_.steps_after.bind_all(job, position.step_id, limit));
}

Result<std::vector<KeptEvaluation>> TelemetryStore::evaluations_after(const JobId& job,
                                                                      const KeptUpTo& position,
                                                                      int limit) {
    return read_rows<KeptEvaluation>(
        sql_.evaluations_after.bind_all(job, position.evaluation_id, limit));
}

Result<KeptUpTo> TelemetryStore::kept_up_to(const JobId& job, Epoch epoch, std::int64_t step) {
    KeptUpTo position;
    RM_TRY(position.step_id, whole_of(sql_.steps_up_to.bind_all(job, epoch, step)));
    RM_TRY(position.evaluation_id, whole_of(sql_.evaluations_up_to.bind_all(job, epoch, step)));
    return position;
}

Status TelemetryStore::pack() {
    if (!curves_.has_full()) return {};
    const Status packed = database_.transaction([&] { return curves_.pack(); });
    if (!packed) forget();
    return packed;
}

Result<bool> TelemetryStore::tidy(WallTime now) {
    bool more = false;
    const Status status = database_.transaction([&]() -> Status {
        RM_TRY(more, curves_.tidy(database_, now));
        return {};
    });
    if (status) return more;
    forget();
    return status.error();
}

Status TelemetryStore::keep(const TelemetryPiece& piece) {
    RM_TRY(StreamOffsets offsets, this->offsets(piece.epoch, piece.rank));
    if (piece.kind == PieceKind::log) {
        RM_RETURN_IF_ERROR(keep_log(piece, offsets));
    } else {
        RM_RETURN_IF_ERROR(keep_report(piece, offsets));
    }
    known_[{piece.epoch.value, piece.rank}] = offsets;
    return sql_.put_stream
        .bind_all(piece.epoch, piece.rank, piece.job, offsets.reports, offsets.log,
                  offsets.log_dropped)
        .run();
}

Status TelemetryStore::keep_report(const TelemetryPiece& piece, StreamOffsets& offsets) {
    if (piece.end_offset <= offsets.reports) return {};
    offsets.reports = piece.end_offset;
    if (piece.kind == PieceKind::connected) {
        return sql_.put_connected.bind_all(piece.epoch, piece.rank, piece.job, piece.received)
            .bind_blob(5, piece.bytes)
            .run();
    }
    Statement& put = sql_.put_report.at(piece.kind);
    put.bind_all(piece.job, piece.epoch, piece.rank, piece.end_offset, piece.received);
    if (is_text(piece.kind)) return put.bind(6, piece.bytes).run();
    if (piece.kind == PieceKind::suite)
        return put.bind_blob(6, piece.bytes).bind(7, piece.name).run();
    // SQLite has no NaN: it stores NULL.
    RM_RETURN_IF_ERROR(put.bind_blob(6, piece.bytes).bind(7, piece.step).bind(8, piece.loss).run());
    if (piece.kind != PieceKind::step) return {};
    curves_.kept_step(piece.epoch, piece.rank, piece.received);
    return {};
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
    const std::int64_t dropped = (offsets.log - log_cap_.value) / kLogBlock * kLogBlock;
    if (dropped <= offsets.log_dropped) return {};
    RM_RETURN_IF_ERROR(drop_log_front(path, dropped));
    offsets.log_dropped = dropped;
    return {};
}

Result<std::unique_ptr<TelemetryReader>> TelemetryReader::open(const TelemetryPaths& paths,
                                                               StepSampler sampler) {
    RM_TRY(Database database, Database::open(paths.database, Access::read));
    RM_TRY(Statement find, database.prepare(kFindStream));
    const auto select = [&](std::string_view rest) {
        return database.prepare(
            format("SELECT {} FROM {}", column_names<KeptReport>().names, rest));
    };
    RM_TRY(Statement last_steps,
           select("steps WHERE epoch = ? AND rank = ? ORDER BY end_offset DESC LIMIT ?"));
    RM_TRY(Statement connections,
           database.prepare("SELECT rank, report FROM connections WHERE epoch = ?"));
    RM_TRY(Statement alarms, select("alarms WHERE job = ? ORDER BY id DESC LIMIT ?"));
    RM_TRY(Statement suites, select("suites WHERE id IN (SELECT MAX(id) FROM suites WHERE job = ? "
                                    "AND rank = 0 GROUP BY name) ORDER BY id"));
    Statements statements{std::move(find),
                          std::move(last_steps),
                          std::move(suites),
                          std::move(alarms),
                          std::move(connections),
                          {},
                          {}};
    for (const auto& [kind, table] : kReports) {
        const std::string of_job = format("{} WHERE job = ? AND rank = 0", table);
        RM_TRY(Statement last, select(of_job + " ORDER BY id DESC LIMIT 1"));
        RM_TRY(Statement since, select(of_job + " AND id > ? ORDER BY id LIMIT ?"));
        statements.last.emplace(kind, std::move(last));
        statements.since.emplace(kind, std::move(since));
    }
    RM_TRY(CurveReader curves, CurveReader::open(database, std::move(sampler)));
    return std::unique_ptr<TelemetryReader>(
        new TelemetryReader(paths, std::move(database), std::move(statements), std::move(curves)));
}

Result<std::optional<KeptReport>> TelemetryReader::last(const JobId& job, PieceKind kind) {
    const std::lock_guard lock(mutex_);
    RM_TRY(auto reports, read_rows<KeptReport>(sql_.last.at(kind).bind_all(job)));
    return reports.empty() ? std::nullopt : std::optional(std::move(reports.front()));
}

Result<std::vector<KeptReport>> TelemetryReader::since(const JobId& job, PieceKind kind,
                                                       std::int64_t after_id, int limit) {
    const std::lock_guard lock(mutex_);
    return read_rows<KeptReport>(sql_.since.at(kind).bind_all(job, after_id, limit));
}

Result<std::vector<KeptReport>> TelemetryReader::last_steps(Epoch epoch, int rank, int limit) {
    const std::lock_guard lock(mutex_);
    return read_rows<KeptReport>(sql_.last_steps.bind_all(epoch, rank, limit));
}

Result<std::vector<KeptReport>> TelemetryReader::suites(const JobId& job) {
    const std::lock_guard lock(mutex_);
    return read_rows<KeptReport>(sql_.suites.bind_all(job));
}

Result<std::vector<KeptReport>> TelemetryReader::alarms(const JobId& job, int limit) {
    const std::lock_guard lock(mutex_);
    return read_rows<KeptReport>(sql_.alarms.bind_all(job, limit));
}

Result<std::map<int, std::string>> TelemetryReader::connections(Epoch epoch) {
    const std::lock_guard lock(mutex_);
    Statement& select = sql_.connections.bind_all(epoch);
    std::map<int, std::string> reports;
    while (true) {
        RM_TRY(const bool more, select.step());
        if (!more) return reports;
        reports[static_cast<int>(select.whole(0))] = select.text(1);
    }
}

Result<StreamOffsets> TelemetryReader::offsets(Epoch epoch, int rank) {
    const std::lock_guard lock(mutex_);
    return find_stream(sql_.find_stream, epoch, rank);
}

Result<LogPart> TelemetryReader::log(const JobId& job, Epoch epoch, int rank, std::int64_t offset,
                                     std::int64_t max_bytes) {
    RM_TRY(const StreamOffsets kept, offsets(epoch, rank));
    LogPart part{std::max(offset, kept.log_dropped), "", kept.log_dropped, {}};
    if (kept.log <= part.offset) return part;
    const std::string path = log_path(paths_.logs, job.value, epoch.value, rank);
    const LogTime arrived = find_log_time(log_times_path(path), part.offset);
    part.time = arrived.time;
    const std::int64_t end = std::min(kept.log, arrived.end);
    RM_TRY(part.bytes, read_log(path, part.offset, std::min(max_bytes, end - part.offset)));
    return part;
}

Result<std::int64_t> TelemetryReader::log_begin(const JobId& job, Epoch epoch, int rank,
                                                const LogRange& range) {
    RM_TRY(const StreamOffsets kept, offsets(epoch, rank));
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
