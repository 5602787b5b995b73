#include "controller/store/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

namespace rm {
namespace {

// A full disk may get space, and another program may release the tables; other errors are final.
ErrorCode code_of(sqlite3* database) {
    const int code = sqlite3_errcode(database) & 0xff;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return ErrorCode::unavailable;
    const bool full =
        sqlite3_errcode(database) == SQLITE_FULL || sqlite3_system_errno(database) == ENOSPC;
    return full ? ErrorCode::resource_exhausted : ErrorCode::data_loss;
}

constexpr int kBusyMillis = 10'000;

void bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
    sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

Error newer(const std::string& path, const std::string& has) {
    return make_error(ErrorCode::failed_precondition,
                      "{} has {}; it was written by a newer Ringmaster and is left untouched. "
                      "Install that version or another state directory",
                      path, has);
}

Result<std::set<std::string>> columns_of(Database& database, const std::string& table) {
    RM_TRY(Statement row, database.prepare("SELECT name FROM pragma_table_info(?)"));
    row.bind(1, table);
    std::set<std::string> names;
    while (true) {
        RM_TRY(const bool more, row.step());
        if (!more) return names;
        names.insert(row.text(0));
    }
}

Status check_columns(Database& database, const std::string& path, const TableColumns& tables) {
    for (const auto& [table, known] : tables) {
        RM_TRY(const std::set<std::string> names, columns_of(database, table));
        for (const std::string& name : names) {
            if (known.contains(name)) continue;
            return newer(path,
                         format("the column {}.{}, which this program does not know", table, name));
        }
    }
    return {};
}

std::string literal(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return to_text(value);
    const std::unique_ptr<char, decltype(&sqlite3_free)> quoted(
        sqlite3_mprintf("%Q", text->c_str()), sqlite3_free);
    return quoted.get();
}

// The statements that add missing columns, by column.
Result<std::map<std::string, std::string>> additions(Database& database,
                                                     const TableColumns& tables) {
    constexpr std::array<const char*, std::variant_size_v<Value>> kTypes = {"INTEGER", "REAL",
                                                                            "TEXT"};
    std::map<std::string, std::string> statements;
    for (const auto& [table, known] : tables) {
        RM_TRY(const std::set<std::string> names, columns_of(database, table));
        for (const auto& [name, absent] : known) {
            if (names.contains(name)) continue;
            statements[format("{}.{}", table, name)] =
                format("ALTER TABLE {} ADD COLUMN {} {} NOT NULL DEFAULT {}", table, name,
                       kTypes.at(absent.index()), literal(absent));
        }
    }
    return statements;
}

enum class File { fresh, existing };

Status add_columns(Database& database, const std::string& path, const TableColumns& tables,
                   File file) {
    RM_TRY(const auto added, additions(database, tables));
    if (added.empty()) return {};
    if (file == File::existing) {
        RM_RETURN_IF_ERROR(database.backup_to(format("{}.before-{}", path, added.begin()->first)));
    }
    return database.transaction([&]() -> Status {
        for (const auto& [column, statement] : added)
            RM_RETURN_IF_ERROR(database.execute(statement));
        return {};
    });
}

Status migrate(Database& database, int from, const char* sql) {
    return database.transaction([&]() -> Status {
        RM_RETURN_IF_ERROR(database.execute(sql));
        return database.execute(format("PRAGMA user_version = {}", from + 1));
    });
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}
void Database::Close::operator()(sqlite3* database) const {
    sqlite3_close_v2(database);
}

Statement& Statement::bind(int index, const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        sqlite3_bind_int64(statement_.get(), index, *whole);
    } else if (const auto* number = std::get_if<double>(&value)) {
        sqlite3_bind_double(statement_.get(), index, *number);
    } else {
        bind_text(statement_.get(), index, std::get<std::string>(value));
    }
    return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
    sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    return *this;
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        reset();
        return false;
    }
    sqlite3* database = sqlite3_db_handle(statement_.get());
    const std::string message = sqlite3_errmsg(database);
    const ErrorCode failure = code_of(database);
    reset();
    return make_error(failure, "{}: {} in: {}", sqlite3_db_filename(database, "main"), message,
                      sqlite3_sql(statement_.get()));
}

Status Statement::run() {
    RM_TRY(bool row, step());
    while (row) {
        RM_TRY(row, step());
    }
    return {};
}

void Statement::reset() {
    sqlite3_reset(statement_.get());
}

Value Statement::column(int index) const {
    switch (sqlite3_column_type(statement_.get(), index)) {
        case SQLITE_INTEGER:
            return whole(index);
        case SQLITE_FLOAT:
            return number(index);
        default:
            return text(index);
    }
}

std::int64_t Statement::whole(int index) const {
    return sqlite3_column_int64(statement_.get(), index);
}
double Statement::number(int index) const {
    return sqlite3_column_double(statement_.get(), index);
}
std::string Statement::text(int index) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), index));
    const auto size = usize(sqlite3_column_bytes(statement_.get(), index));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
}

Result<Database> Database::open(const std::string& path, Access access) {
    const int flags =
        access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(raw, path);
    if (code != SQLITE_OK) return database.error("open");
    sqlite3_busy_timeout(raw, kBusyMillis);
    return database;
}

Error Database::error(std::string_view doing) const {
    return make_error(code_of(database_.get()), "{}: {}: {}", path_, doing,
                      sqlite3_errmsg(database_.get()));
}

Status Database::execute(const std::string& sql) {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
        return {};
    }
    return error(sql.substr(0, 60));
}

Result<Statement> Database::prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return error(sql);
    return Statement(statement);
}

Result<int> Database::user_version() {
    RM_TRY(Statement statement, prepare("PRAGMA user_version"));
    RM_TRY(const bool row, statement.step());
    return row ? static_cast<int>(statement.whole(0)) : 0;
}

Status Database::backup_to(const std::string& path) {
    RM_TRY(Database copy, open(path, Access::write));
    sqlite3_backup* backup =
        sqlite3_backup_init(copy.database_.get(), "main", database_.get(), "main");
    if (backup == nullptr) return copy.error("backup");
    sqlite3_backup_step(backup, -1);
    if (sqlite3_backup_finish(backup) != SQLITE_OK) return copy.error("backup");
    return {};
}

Status check_not_newer(const std::string& path, const Schema& schema) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return {};
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_TRY(const int version, database.user_version());
    const auto newest = static_cast<int>(schema.migrations.size());
    if (version > newest) {
        return newer(path, format("schema {}, this program knows {} and older", version, newest));
    }
    // A pending migration may rename or remove columns.
    return version < newest ? Status() : check_columns(database, path, schema.columns);
}

Result<Database> open_migrated(const std::string& path, const Schema& schema,
                               Durability durability) {
    RM_RETURN_IF_ERROR(check_not_newer(path, schema));
    RM_TRY(Database database, Database::open(path, Access::write));
    RM_RETURN_IF_ERROR(database.execute("PRAGMA journal_mode = WAL"));
    RM_RETURN_IF_ERROR(database.execute(durability == Durability::full
                                            ? "PRAGMA synchronous = FULL"
                                            : "PRAGMA synchronous = NORMAL"));
    RM_TRY(const int version, database.user_version());
    for (auto from = usize(version); from < schema.migrations.size(); ++from) {
        if (version > 0) {
            RM_RETURN_IF_ERROR(database.backup_to(format("{}.before-{}", path, from + 1)));
        }
        RM_RETURN_IF_ERROR(migrate(database, static_cast<int>(from), schema.migrations[from]));
    }
    RM_RETURN_IF_ERROR(
        add_columns(database, path, schema.columns, version > 0 ? File::existing : File::fresh));
    return database;
}

}  // namespace rm
