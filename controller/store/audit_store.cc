#include "controller/store/audit_store.h"

#include <algorithm>

namespace rm {
namespace {

// Times are microseconds since the Unix epoch.
constexpr const char* kAudit1 = R"sql(
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
    principal TEXT NOT NULL, credential TEXT NOT NULL, peer TEXT NOT NULL,
    method TEXT NOT NULL, subject TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL
) STRICT;
CREATE INDEX refusals ON audit (id) WHERE code <> 'ok';
)sql";
constexpr const char* kAudit2 = "ALTER TABLE audit ADD COLUMN arguments TEXT NOT NULL DEFAULT ''";
constexpr const char* kMigrations[] = {kAudit1, kAudit2};

constexpr const char* kColumns =
    "first, last, count, principal, credential, peer, method, subject, code, reason, "
    "arguments";

AuditRow row_in(const Statement& row) {
    return {.id = row.whole(0),
            .entry = {.time = {row.whole(1)},
                      .principal = row.text(4),
                      .credential = row.text(5),
                      .peer = row.text(6),
                      .method = row.text(7),
                      .subject = row.text(8),
                      .code = row.text(9),
                      .reason = row.text(10),
                      .arguments = row.text(11)},
            .last = {row.whole(2)},
            .count = row.whole(3)};
}

constexpr std::string_view kRefused = "code <> 'ok'";
constexpr std::string_view kOfSession = "code = 'ok' AND method GLOB 'session *'";

bool is_of_session(const AuditEntry& entry) {
    return entry.allowed() && entry.method.starts_with("session ");
}

std::string prune_sql(std::string_view rows) {
    return format(
        "DELETE FROM audit WHERE {} AND id <= (SELECT id FROM audit WHERE {} "
        "ORDER BY id DESC LIMIT 1 OFFSET ?)",
        rows, rows);
}

}  // namespace

Result<std::unique_ptr<AuditStore>> AuditStore::open(const std::string& path, std::int64_t kept) {
    RM_TRY(Database database, open_migrated(path, {kMigrations}, Durability::normal));
    RM_TRY(Statement insert,
           database.prepare(format(
               "INSERT INTO audit ({}) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
               kColumns)));
    RM_TRY(Statement update, database.prepare("UPDATE audit SET count = ?, last = ? WHERE id = ?"));
    RM_TRY(Statement prune_refusals, database.prepare(prune_sql(kRefused)));
    RM_TRY(Statement prune_sessions, database.prepare(prune_sql(kOfSession)));
    return std::unique_ptr<AuditStore>(new AuditStore(kept, std::move(database), std::move(insert),
                                                      std::move(update), std::move(prune_refusals),
                                                      std::move(prune_sessions)));
}

Status AuditStore::together(const std::function<void()>& writes) {
    return database_.transaction([&]() -> Status {
        writes();
        return {};
    });
}

Result<std::int64_t> AuditStore::add(const AuditEntry& entry) {
    insert_.bind(1, entry.time.micros)
        .bind(2, entry.time.micros)
        .bind(3, entry.principal)
        .bind(4, entry.credential)
        .bind(5, entry.peer)
        .bind(6, entry.method)
        .bind(7, entry.subject)
        .bind(8, entry.code)
        .bind(9, entry.reason)
        .bind(10, entry.arguments);
    RM_TRY(const bool made, insert_.step());
    const std::int64_t id = made ? insert_.whole(0) : 0;
    insert_.reset();
    if (!entry.allowed()) RM_RETURN_IF_ERROR(make_room(refusals_));
    if (is_of_session(entry)) RM_RETURN_IF_ERROR(make_room(sessions_));
    return id;
}

// Finding the oldest row to keep reads as many: not for every row.
Status AuditStore::make_room(Bounded& rows) {
    const std::int64_t interval = std::max<std::int64_t>(1, kept_ / 100);
    if (++rows.added % interval != 0) return {};
    return rows.prune.bind(1, kept_).run();
}

Status AuditStore::repeat(std::int64_t id, std::int64_t count, WallTime last) {
    return update_.bind(1, count).bind(2, last.micros).bind(3, id).run();
}

Result<std::unique_ptr<AuditReader>> AuditReader::open(const std::string& path) {
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_TRY(Statement select,
           database.prepare(format(
               "SELECT id, {} FROM audit WHERE (?1 = 0 OR id < ?1) AND last >= ?2 AND (?3 = 0 OR "
               "code <> 'ok') ORDER BY id DESC LIMIT ?4",
               kColumns)));
    return std::unique_ptr<AuditReader>(new AuditReader(std::move(database), std::move(select)));
}

Result<std::vector<AuditRow>> AuditReader::list(const AuditFilter& filter) {
    const std::lock_guard lock(mutex_);
    select_.bind(1, filter.before_id)
        .bind(2, filter.since.micros)
        .bind(3, std::int64_t{filter.only_refused})
        .bind(4, std::int64_t{filter.limit});
    std::vector<AuditRow> rows;
    while (true) {
        RM_TRY(const bool found, select_.step());
        if (!found) return rows;
        rows.push_back(row_in(select_));
    }
}

}  // namespace rm
