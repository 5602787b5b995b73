#include "controller/store/audit_store.h"

#include <algorithm>

#include "controller/store/table.h"

namespace rm {

void columns(Like<AuditRow> auto& row, auto&& visit) {
    auto& entry = row.entry;
    visit("first", entry.time);
    visit("last", row.last);
    visit("count", row.count);
    visit("principal", entry.principal);
    visit("credential", entry.credential);
    visit("peer", entry.peer);
    visit("method", entry.method);
    visit("subject", entry.subject);
    visit("code", entry.code);
    visit("reason", entry.reason);
    visit("arguments", entry.arguments);
}

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
    const ColumnNames names = column_names<AuditRow>();
    RM_TRY(Statement insert,
           database.prepare(format("INSERT INTO audit ({}) VALUES ({}) RETURNING id", names.names,
                                   names.marks)));
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
    bind_row(insert_, AuditRow{.entry = entry, .last = entry.time});
    RM_TRY(const bool made, insert_.step());
    const std::int64_t id = made ? insert_.whole(0) : 0;
    insert_.reset();
    if (!entry.allowed()) RM_RETURN_IF_ERROR(make_room(refusals_));
    if (is_of_session(entry)) RM_RETURN_IF_ERROR(make_room(sessions_));
    return id;
}

// Finding the oldest row to keep reads `kept_` rows, so only every interval-th row does it.
Status AuditStore::make_room(Bounded& rows) {
    const std::int64_t interval = std::max<std::int64_t>(1, kept_ / 100);
    if (++rows.added % interval != 0) return {};
    return rows.prune.bind_all(kept_).run();
}

Status AuditStore::repeat(std::int64_t id, std::int64_t count, WallTime last) {
    return update_.bind_all(count, last, id).run();
}

Result<std::unique_ptr<AuditReader>> AuditReader::open(const std::string& path) {
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_TRY(Statement select,
           database.prepare(format(
               "SELECT {}, id FROM audit WHERE (?1 = 0 OR id < ?1) AND last >= ?2 AND (?3 = 0 OR "
               "code <> 'ok') ORDER BY id DESC LIMIT ?4",
               column_names<AuditRow>().names)));
    return std::unique_ptr<AuditReader>(new AuditReader(std::move(database), std::move(select)));
}

Result<std::vector<AuditRow>> AuditReader::list(const AuditFilter& filter) {
    const std::lock_guard lock(mutex_);
    select_.bind_all(filter.before_id, filter.since, filter.only_refused, filter.limit);
    std::vector<AuditRow> rows;
    while (true) {
        RM_TRY(const bool found, select_.step());
        if (!found) return rows;
        RM_TRY(AuditRow row, read_row<AuditRow>(select_));
        row.id = select_.whole(column_names<AuditRow>().count);
        rows.push_back(std::move(row));
    }
}

}  // namespace rm
